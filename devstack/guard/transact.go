package guard

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"sluice/devstack/guard/rules"
)

// maxActions of a transaction, by the service's own limit.
const maxActions = 100

// An action is one element of a transaction.
type action struct {
	kind  string // Put, Update, Delete, ConditionCheck, Get
	in    doc
	table *table
	key   rules.Item
	held  bill
}

// actionsOf reads TransactItems; the message says what is wrong with them.
func actionsOf(in doc, kinds ...string) (list []*action, message string) {
	var items []map[string]doc
	if json.Unmarshal(in["TransactItems"], &items) != nil || len(items) == 0 || len(items) > maxActions {
		return nil, fmt.Sprintf("1 validation error detected: Value at 'transactItems' failed to satisfy constraint: "+
			"Member must have length less than or equal to %d and at least 1", maxActions)
	}
	for _, item := range items {
		if len(item) != 1 {
			return nil, "TransactItems can only contain one of Check, Put, Update or Delete"
		}
		for kind, in := range item {
			if !slices.Contains(kinds, kind) {
				return nil, "TransactItems can't contain " + kind
			}
			in.set("TableName", nameOf(in.text("TableName"), "table"))
			list = append(list, &action{kind: kind, in: in, held: bill{}})
		}
	}
	return list, ""
}

// transactTables are the tables that a transaction names, sorted.
func transactTables(in doc) []string {
	var items []map[string]doc
	_ = json.Unmarshal(in["TransactItems"], &items)
	tables := map[string]bool{}
	for _, item := range items {
		for _, action := range item {
			tables[nameOf(action.text("TableName"), "table")] = true
		}
	}
	return slices.Sorted(maps.Keys(tables))
}

// resolve finds tables and keys. The answer is the service's refusal, nil if all
// is well.
func (d *dynamoDB) resolve(ctx context.Context, c *call, actions []*action) (*answer, error) {
	seen := map[string]bool{}
	for _, a := range actions {
		name := a.in.text("TableName")
		t, err := d.tables.get(ctx, name)
		if err != nil {
			return nil, err
		}
		if t == nil {
			return d.refuse(c, http.StatusBadRequest, "ResourceNotFoundException", "Requested resource not found"), nil
		}
		a.table = t
		if a.kind == "Put" {
			var item rules.Item
			_ = json.Unmarshal(a.in["Item"], &item)
			a.key = t.keyOf(item)
		} else {
			_ = json.Unmarshal(a.in["Key"], &a.key)
		}
		place := name + string(encode(a.key))
		if seen[place] {
			return d.invalid(c, "Transaction request cannot include multiple operations on one item"), nil
		}
		seen[place] = true
	}
	return nil, nil
}

func (d *dynamoDB) invalid(c *call, message string) *answer {
	return d.refuse(c, http.StatusBadRequest, "ValidationException", message)
}

// cancelled is the answer to a transaction that was not carried out.
func cancelled(reasons []Reason) *answer {
	codes := make([]string, len(reasons))
	for i, r := range reasons {
		codes[i] = r.Code
	}
	body := encode(map[string]any{
		"__type":              dynamoNamespace + "TransactionCanceledException",
		"Message":             "Transaction cancelled, please refer cancellation reasons for specific reasons [" + strings.Join(codes, ", ") + "]",
		"CancellationReasons": reasons,
	})
	a := jsonAnswer(dynamoContent, http.StatusBadRequest, body)
	sumUp(&call{service: DynamoDB}, a, body)
	return a
}

// holdAll takes the estimates of all actions, or tells which were refused.
func (d *dynamoDB) holdAll(limits Limits, actions []*action) []Reason {
	reasons, refused := make([]Reason, len(actions)), false
	for i, a := range actions {
		reasons[i].Code = "None"
		if !refused && d.meters.hold(limits, a.table, a.held, time.Now()) {
			continue
		}
		refused = true
		reasons[i] = Reason{Code: "ProvisionedThroughputExceeded", Message: throttleMessage}
		a.held = bill{}
	}
	if !refused {
		return nil
	}
	for _, a := range actions {
		d.meters.settle(limits, a.table, a.held, bill{}, time.Now())
	}
	return reasons
}

// transactGet reads all items as they are at one moment.
func (d *dynamoDB) transactGet(ctx context.Context, c *call) (*answer, error) {
	actions, message := actionsOf(c.doc, "Get")
	if message != "" {
		return d.invalid(c, message), nil
	}
	if refusal, err := d.resolve(ctx, c, actions); refusal != nil || err != nil {
		return refusal, err
	}
	limits := d.limits.get()
	for _, a := range actions {
		a.held.add(resource{table: a.table.name}, 2)
	}
	if reasons := d.holdAll(limits, actions); reasons != nil {
		c.count(Count{Throttled: 1})
		return cancelled(reasons), nil
	}
	d.writes.Lock()
	defer d.writes.Unlock()
	responses, sum := make([]doc, len(actions)), map[string]*consumed{}
	for i, a := range actions {
		in := maps.Clone(a.in)
		in.set("ConsistentRead", true)
		in.set("ReturnConsumedCapacity", "INDEXES")
		out, err := d.ask(ctx, "GetItem", in)
		if e, refused := err.(*upstreamError); refused {
			return d.refuse(c, e.status, e.code, e.message), nil
		}
		if err != nil {
			return nil, err
		}
		responses[i] = doc{}
		if item, found := out["Item"]; found {
			responses[i]["Item"] = item
		}
		d.settleAction(limits, a, consumption(out), sum, false)
	}
	out := doc{"Responses": encode(responses)}
	d.showTransaction(c, out, sum, false)
	return d.answerJSON(c, out), nil
}

// settleAction charges an action double, as transactions cost, and adds it up.
func (d *dynamoDB) settleAction(limits Limits, a *action, used []consumed, sum map[string]*consumed, write bool) {
	really := bill{}
	if len(used) > 0 {
		used[0].times(2)
		really = used[0].bill(a.table.name, write)
		if sum[a.table.name] == nil {
			sum[a.table.name] = &consumed{}
		}
		sum[a.table.name].plus(used[0])
	}
	d.meters.settle(limits, a.table, a.held, really, time.Now())
}

// showTransaction puts consumption by table into the answer and the counters.
func (d *dynamoDB) showTransaction(c *call, out doc, sum map[string]*consumed, write bool) []consumed {
	var used []consumed
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		used = append(used, *sum[name])
		d.report(c, sum[name].bill(name, write))
	}
	showBatch(out, used, c.doc.text("ReturnConsumedCapacity"))
	return used
}

// transactWrite tries every action out on copies of its items, then carries them
// all out or none.
func (d *dynamoDB) transactWrite(ctx context.Context, c *call) (*answer, error) {
	actions, message := actionsOf(c.doc, "Put", "Update", "Delete", "ConditionCheck")
	if message != "" {
		return d.invalid(c, message), nil
	}
	token := c.doc.text("ClientRequestToken")
	if token == "" {
		a, _, err := d.transact(ctx, c, actions)
		return a, err
	}
	request := sha256.Sum256(c.doc["TransactItems"])
	if before := d.tokens.begin(token, request, time.Now()); before != nil {
		return d.repeated(c, before, request), nil
	}
	a, used, err := d.transact(ctx, c, actions)
	done := err == nil && a.status == http.StatusOK
	d.tokens.end(token, done, used, time.Now())
	return a, err
}

// repeated answers the second use of a token.
func (d *dynamoDB) repeated(c *call, before *tokenUse, request [sha256.Size]byte) *answer {
	switch {
	case before.request != request:
		return d.refuse(c, http.StatusBadRequest, "IdempotentParameterMismatchException",
			"Request parameters do not match those of an earlier request with the same client token")
	case !before.done:
		return d.refuse(c, http.StatusBadRequest, "TransactionInProgressException",
			"The transaction with the given request token is already in progress")
	}
	out := doc{}
	showBatch(out, before.used, c.doc.text("ReturnConsumedCapacity"))
	return d.answerJSON(c, out)
}

func (d *dynamoDB) transact(ctx context.Context, c *call, actions []*action) (*answer, []consumed, error) {
	if refusal, err := d.resolve(ctx, c, actions); refusal != nil || err != nil {
		return refusal, nil, err
	}
	d.writes.Lock()
	defer d.writes.Unlock()
	trial, err := d.tryOut(ctx, actions)
	if err != nil {
		return nil, nil, err
	}
	if trial.invalid != "" {
		return d.invalid(c, trial.invalid), nil, nil
	}
	limits := d.limits.get()
	for i, a := range actions {
		a.held.add(resource{table: a.table.name, write: true}, 2*rules.WriteUnits(max(trial.before[i].Size(), trial.after[i].Size())))
		a.table.billIndexes(a.held, a.table.indexCosts(trial.before[i], trial.after[i]))
	}
	if reasons := d.holdAll(limits, actions); reasons != nil {
		c.count(Count{Throttled: 1})
		return cancelled(reasons), nil, nil
	}
	if trial.failed {
		// Refused conditions cost as much as the writes would have.
		for _, a := range actions {
			d.report(c, a.held)
		}
		return cancelled(trial.reasons), nil, nil
	}
	sum := map[string]*consumed{}
	for i, a := range actions {
		used, err := d.apply(ctx, a)
		if err != nil {
			return nil, nil, fmt.Errorf("transaction half done: %w", err)
		}
		if len(used) > 0 {
			used[0].addIndexes(a.table, a.table.indexCosts(trial.before[i], trial.after[i]))
		}
		d.settleAction(limits, a, used, sum, true)
	}
	out := doc{}
	used := d.showTransaction(c, out, sum, true)
	return d.answerJSON(c, out), used, nil
}

// apply carries an action out for good.
func (d *dynamoDB) apply(ctx context.Context, a *action) ([]consumed, error) {
	if a.kind == "ConditionCheck" {
		units := units{1}
		return []consumed{{TableName: a.table.name, CapacityUnits: 1, Table: &units}}, nil
	}
	in := a.request(a.table.name)
	in.set("ReturnConsumedCapacity", "INDEXES")
	out, err := d.ask(ctx, a.kind+"Item", in)
	return consumption(out), err
}

// request is the single call that does what the action does, on some table.
func (a *action) request(table string) doc {
	in := maps.Clone(a.in)
	delete(in, "ReturnValuesOnConditionCheckFailure")
	in.set("TableName", table)
	return in
}

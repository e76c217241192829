package guard

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"

	"sluice/devstack/guard/rules"
)

// shadowPrefix names the tables on which actions are tried out: of the same key
// as their table, empty but during a transaction, and not listed.
const shadowPrefix = "guard.shadow."

// A trial is what became of a transaction's actions on copies of their items.
type trial struct {
	before, after []rules.Item
	reasons       []Reason
	failed        bool
	invalid       string // the whole request is wrong
}

// tryOut lets dynalite itself judge conditions and expressions: each item is
// copied to the shadow of its table, the action done there, and the copy removed.
func (d *dynamoDB) tryOut(ctx context.Context, actions []*action) (*trial, error) {
	n := len(actions)
	t := &trial{before: make([]rules.Item, n), after: make([]rules.Item, n), reasons: make([]Reason, n)}
	for _, a := range actions {
		if err := d.ensureShadow(ctx, a.table); err != nil {
			return nil, err
		}
	}
	var (
		mu    sync.Mutex
		wg    sync.WaitGroup
		first error
		slots = make(chan struct{}, 8)
	)
	for i, a := range actions {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			err := d.tryOne(ctx, t, i, a, &mu)
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = err
			}
		})
	}
	wg.Wait()
	return t, first
}

func (d *dynamoDB) tryOne(ctx context.Context, t *trial, i int, a *action, mu *sync.Mutex) error {
	shadow := shadowPrefix + a.table.name
	before, err := d.item(ctx, a.table.name, a.key)
	if err != nil {
		return err
	}
	if before != nil {
		if _, err := d.ask(ctx, "PutItem", map[string]any{"TableName": shadow, "Item": before}); err != nil {
			return err
		}
	}
	reason, invalid, err := d.judge(ctx, a, shadow, before)
	if err != nil {
		return err
	}
	after := before
	if reason.Code == "None" && a.kind != "ConditionCheck" {
		if after, err = d.item(ctx, shadow, a.key); err != nil {
			return err
		}
	}
	_, err = d.ask(ctx, "DeleteItem", map[string]any{"TableName": shadow, "Key": a.key})
	if err := ignoreRefusal(err); err != nil {
		return err
	}
	mu.Lock()
	defer mu.Unlock()
	t.before[i], t.after[i], t.reasons[i] = before, after, reason
	t.failed = t.failed || reason.Code != "None"
	if t.invalid == "" {
		t.invalid = invalid
	}
	return nil
}

// judge does the action on the shadow. A check is a conditional delete there.
func (d *dynamoDB) judge(ctx context.Context, a *action, shadow string, before rules.Item) (Reason, string, error) {
	operation := a.kind + "Item"
	if a.kind == "ConditionCheck" {
		operation = "DeleteItem"
	}
	_, err := d.ask(ctx, operation, a.request(shadow))
	e, refused := err.(*upstreamError)
	switch {
	case err == nil:
		return Reason{Code: "None"}, "", nil
	case !refused || e.status >= http.StatusInternalServerError:
		return Reason{}, "", err
	case e.code == "ConditionalCheckFailedException":
		reason := Reason{Code: "ConditionalCheckFailed", Message: "The conditional request failed"}
		if before != nil && a.in.text("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" {
			reason.Item = encode(before)
		}
		return reason, "", nil
	case dependsOnItem(e.message):
		return Reason{Code: "ValidationError", Message: e.message}, "", nil
	}
	return Reason{Code: "ValidationError"}, e.message, nil
}

// dependsOnItem tells faults that only the stored item brings out, which cancel a
// transaction, from those of the request itself.
func dependsOnItem(message string) bool {
	for _, part := range []string{"An operand in the update expression", "document path provided", "refers to an attribute that does not exist", "Item size"} {
		if strings.Contains(message, part) {
			return true
		}
	}
	return false
}

// ensureShadow makes the shadow of a table if it isn't there.
func (d *dynamoDB) ensureShadow(ctx context.Context, t *table) error {
	name := shadowPrefix + t.name
	if shadow, err := d.tables.get(ctx, name); shadow != nil || err != nil {
		return err
	}
	_, err := d.ask(ctx, "CreateTable", map[string]any{"TableName": name, "KeySchema": t.schema,
		"AttributeDefinitions": keyTypes(t), "BillingMode": "PAY_PER_REQUEST"})
	if e, refused := err.(*upstreamError); refused && e.code == "ResourceInUseException" {
		return nil
	}
	return err
}

// dropShadow removes a shadow: its table goes, or comes with another key.
func (d *dynamoDB) dropShadow(ctx context.Context, table string) {
	name := shadowPrefix + table
	_, _ = d.ask(ctx, "DeleteTable", map[string]any{"TableName": name})
	d.tables.forget(name)
}

// keyTypes are the attribute definitions of the key alone.
func keyTypes(t *table) []doc {
	var all, own []doc
	_ = json.Unmarshal(t.types, &all)
	for _, definition := range all {
		for _, name := range t.key {
			if definition.text("AttributeName") == name {
				own = append(own, definition)
			}
		}
	}
	return own
}

package guard

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"
)

// An entry is one key of BatchGetItem or one request of BatchWriteItem.
type entry struct {
	table *table
	name  string
	raw   json.RawMessage
	held  bill
	// costs are what a write does to the indexes.
	costs   map[string]float64
	refused bool
}

// batch holds what is admitted of the entries and marks the others. It answers
// false if nothing is left.
func (d *dynamoDB) batch(c *call, limits Limits, entries []*entry) bool {
	left := 0
	for i, e := range entries {
		for _, fault := range c.faults.Entries {
			e.refused = e.refused || fault.matches(i, "", "")
		}
		if !e.refused && !d.meters.hold(limits, e.table, e.held, time.Now()) {
			e.refused = true
		}
		if !e.refused {
			left++
		}
	}
	c.count(Count{Records: left, RecordsRefused: len(entries) - left})
	return left > 0
}

// settleBatch charges what a batch really cost: what dynalite tells of the tables
// and what we know of their indexes.
func (d *dynamoDB) settleBatch(c *call, limits Limits, entries []*entry, out doc, write bool) []consumed {
	used := consumption(out)
	byTable := map[string]*consumed{}
	for i := range used {
		byTable[used[i].TableName] = &used[i]
	}
	held, infos := map[string]bill{}, map[string]*table{}
	for _, e := range entries {
		if e.refused || e.table == nil {
			continue
		}
		infos[e.name] = e.table
		if held[e.name] == nil {
			held[e.name] = bill{}
		}
		for r, units := range e.held {
			held[e.name].add(r, units)
		}
		if u := byTable[e.name]; u != nil && e.costs != nil {
			u.addIndexes(e.table, e.costs)
		}
	}
	for name, t := range infos {
		really := bill{}
		if u := byTable[name]; u != nil {
			really = u.bill(name, write)
		}
		d.meters.settle(limits, t, held[name], really, time.Now())
		d.report(c, really)
	}
	return used
}

// showBatch puts consumption into the answer in the form asked for.
func showBatch(out doc, used []consumed, mode string) {
	delete(out, "ConsumedCapacity")
	var shown []any
	for _, u := range used {
		if s := u.as(mode); s != nil {
			shown = append(shown, s)
		}
	}
	if shown != nil {
		out.set("ConsumedCapacity", shown)
	}
}

// send forwards a batch of which entries may have been taken out.
func (d *dynamoDB) sendBatch(ctx context.Context, c *call, items map[string]json.RawMessage) (*answer, doc, error) {
	in := maps.Clone(c.doc)
	in.set("RequestItems", items)
	in.set("ReturnConsumedCapacity", "INDEXES")
	a, err := d.to.send(ctx, c, encode(in))
	if err != nil {
		return nil, nil, err
	}
	text, err := a.whole()
	if err != nil {
		return nil, nil, err
	}
	if a.status != http.StatusOK {
		return a, nil, nil
	}
	out, err := parse(text)
	return a, out, err
}

// batchWrite leaves unprocessed what the budgets have no room for.
func (d *dynamoDB) batchWrite(ctx context.Context, c *call) (*answer, error) {
	d.writes.RLock()
	defer d.writes.RUnlock()
	var items map[string][]json.RawMessage
	if json.Unmarshal(c.doc["RequestItems"], &items) != nil {
		return d.to.send(ctx, c, c.body)
	}
	var entries []*entry
	for _, name := range slices.Sorted(maps.Keys(items)) {
		t, err := d.tables.get(ctx, name)
		if err != nil {
			return nil, err
		}
		for _, raw := range items[name] {
			e, err := d.writeEntry(ctx, t, name, raw)
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
	}
	limits := d.limits.get()
	if !d.batch(c, limits, entries) && len(entries) > 0 {
		return d.nothingLeft(c, entries, func(refused []*entry) doc { return doc{"UnprocessedItems": encode(writesOf(refused))} }), nil
	}
	going, refused := split(entries)
	a, out, err := d.sendBatch(ctx, c, encodeEach(writesOf(going)))
	used := d.settleBatch(c, limits, entries, out, true)
	if err != nil || out == nil {
		return a, err
	}
	if len(refused) > 0 {
		unprocessed := map[string][]json.RawMessage{}
		_ = json.Unmarshal(out["UnprocessedItems"], &unprocessed)
		for name, list := range writesOf(refused) {
			unprocessed[name] = append(unprocessed[name], list...)
		}
		out.set("UnprocessedItems", unprocessed)
		c.count(Count{Throttled: 1})
	}
	showBatch(out, used, c.doc.text("ReturnConsumedCapacity"))
	return d.answerJSON(c, out), nil
}

func (d *dynamoDB) writeEntry(ctx context.Context, t *table, name string, raw json.RawMessage) (*entry, error) {
	e := &entry{table: t, name: name, raw: raw, held: bill{}}
	if t == nil {
		return e, nil
	}
	var request struct{ PutRequest, DeleteRequest doc }
	_ = json.Unmarshal(raw, &request)
	operation, in := "PutItem", request.PutRequest
	if in == nil {
		operation, in = "DeleteItem", request.DeleteRequest
	}
	w, err := d.newWrite(ctx, t, operation, in)
	if err != nil {
		return nil, err
	}
	e.held = w.estimate()
	e.costs, err = w.costs(ctx)
	return e, err
}

// nothingLeft answers a batch of which no entry was admitted: by an error, as the
// service does, unless a fault wants them unprocessed.
func (d *dynamoDB) nothingLeft(c *call, entries []*entry, unprocessed func([]*entry) doc) *answer {
	if len(c.faults.Entries) == 0 {
		return d.throttle(c)
	}
	c.count(Count{Throttled: 1})
	return d.answerJSON(c, unprocessed(entries))
}

// batchGet leaves unprocessed what the budgets have no room for.
func (d *dynamoDB) batchGet(ctx context.Context, c *call) (*answer, error) {
	var requests map[string]doc
	if json.Unmarshal(c.doc["RequestItems"], &requests) != nil {
		return d.to.send(ctx, c, c.body)
	}
	var entries []*entry
	for _, name := range slices.Sorted(maps.Keys(requests)) {
		t, err := d.tables.get(ctx, name)
		if err != nil {
			return nil, err
		}
		var keys []json.RawMessage
		_ = json.Unmarshal(requests[name]["Keys"], &keys)
		for _, key := range keys {
			entries = append(entries, &entry{table: t, name: name, raw: key, held: bill{{table: name}: readEstimate(requests[name])}})
		}
	}
	limits := d.limits.get()
	if !d.batch(c, limits, entries) && len(entries) > 0 {
		return d.nothingLeft(c, entries, func(refused []*entry) doc {
			return doc{"Responses": encode(doc{}), "UnprocessedKeys": encode(readsOf(refused, requests))}
		}), nil
	}
	going, refused := split(entries)
	a, out, err := d.sendBatch(ctx, c, readsOf(going, requests))
	used := d.settleBatch(c, limits, entries, out, false)
	if err != nil || out == nil {
		return a, err
	}
	if len(refused) > 0 {
		out.set("UnprocessedKeys", mergeUnprocessedKeys(out["UnprocessedKeys"], refused, requests))
		c.count(Count{Throttled: 1})
	}
	showBatch(out, used, c.doc.text("ReturnConsumedCapacity"))
	return d.answerJSON(c, out), nil
}

// mergeUnprocessedKeys joins what dynalite left with what was refused here.
func mergeUnprocessedKeys(left json.RawMessage, refused []*entry, requests map[string]doc) map[string]json.RawMessage {
	var theirs map[string]struct{ Keys []json.RawMessage }
	_ = json.Unmarshal(left, &theirs)
	for name, t := range theirs {
		for _, key := range t.Keys {
			refused = append(refused, &entry{name: name, raw: key})
		}
	}
	return readsOf(refused, requests)
}

func split(entries []*entry) (going, refused []*entry) {
	for _, e := range entries {
		if e.refused {
			refused = append(refused, e)
		} else {
			going = append(going, e)
		}
	}
	return going, refused
}

// writesOf is RequestItems of a BatchWriteItem.
func writesOf(entries []*entry) map[string][]json.RawMessage {
	items := map[string][]json.RawMessage{}
	for _, e := range entries {
		items[e.name] = append(items[e.name], e.raw)
	}
	return items
}

// readsOf is RequestItems of a BatchGetItem; what is not a key stays as it was
// asked.
func readsOf(entries []*entry, requests map[string]doc) map[string]json.RawMessage {
	keys := writesOf(entries)
	items := map[string]json.RawMessage{}
	for name, list := range keys {
		request := maps.Clone(requests[name])
		request.set("Keys", list)
		items[name] = encode(request)
	}
	return items
}

func encodeEach[T any](values map[string]T) map[string]json.RawMessage {
	items := map[string]json.RawMessage{}
	for name, value := range values {
		items[name] = encode(value)
	}
	return items
}

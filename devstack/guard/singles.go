package guard

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"sluice/devstack/guard/rules"
)

// read carries out GetItem, Query or Scan.
func (d *dynamoDB) read(ctx context.Context, c *call) (*answer, error) {
	t, err := d.tables.get(ctx, c.target)
	if err != nil {
		return nil, err
	}
	from := resource{table: c.target}
	if index := c.doc.text("IndexName"); t != nil && slices.ContainsFunc(t.indexes, func(i rules.Index) bool { return i.Global && i.Name == index }) {
		from.index = index
	}
	return d.metered(ctx, c, t, bill{from: readEstimate(c.doc)}, nil)
}

// readEstimate is the least that a read costs; the rest is charged when it is
// known.
func readEstimate(in doc) float64 {
	if in.truth("ConsistentRead") {
		return 1
	}
	return 0.5
}

// write carries out PutItem, UpdateItem or DeleteItem.
func (d *dynamoDB) write(ctx context.Context, c *call) (*answer, error) {
	d.writes.RLock()
	defer d.writes.RUnlock()
	t, err := d.tables.get(ctx, c.target)
	if err != nil {
		return nil, err
	}
	w, err := d.newWrite(ctx, t, c.operation, c.doc)
	if err != nil {
		return nil, err
	}
	return d.metered(ctx, c, t, w.estimate(), w)
}

// A write is a change of one item, with what the guard must know to bill it.
type write struct {
	d             *dynamoDB
	table         *table // nil: there is none
	operation     string
	key           rules.Item
	before, after rules.Item // before only where the table has indexes
}

func (d *dynamoDB) newWrite(ctx context.Context, t *table, operation string, in doc) (*write, error) {
	w := &write{d: d, table: t, operation: operation}
	if t == nil {
		return w, nil
	}
	if operation == "PutItem" {
		_ = json.Unmarshal(in["Item"], &w.after)
		w.key = t.keyOf(w.after)
	} else {
		_ = json.Unmarshal(in["Key"], &w.key)
	}
	if len(t.indexes) == 0 {
		return w, nil
	}
	var err error
	w.before, err = d.item(ctx, t.name, w.key)
	return w, err
}

// item reads one item for the guard's own use; nil if it is absent or the key is
// not one, which dynalite will tell the caller.
func (d *dynamoDB) item(ctx context.Context, table string, key rules.Item) (rules.Item, error) {
	out, err := d.ask(ctx, "GetItem", map[string]any{"TableName": table, "Key": key, "ConsistentRead": true})
	if err != nil {
		return nil, ignoreRefusal(err)
	}
	var item rules.Item
	_ = json.Unmarshal(out["Item"], &item)
	return item, nil
}

// ignoreRefusal passes over a client's fault and keeps our own.
func ignoreRefusal(err error) error {
	if e, ok := err.(*upstreamError); ok && e.status < http.StatusInternalServerError {
		return nil
	}
	return err
}

// estimate is what must be there before the write. What an update does to the
// indexes shows only afterwards, so of the indexes that hold the item it asks
// merely that they owe nothing.
func (w *write) estimate() bill {
	b := bill{}
	if w.table == nil {
		return b
	}
	b.add(resource{table: w.table.name, write: true}, rules.WriteUnits(w.after.Size()))
	if w.operation != "UpdateItem" {
		w.table.billIndexes(b, w.table.indexCosts(w.before, w.after))
		return b
	}
	for _, index := range w.table.indexes {
		if index.Global && index.Entry(w.before, w.table.key) != nil {
			b.add(resource{w.table.name, index.Name, true}, 0)
		}
	}
	return b
}

// costs is what the write did to the indexes.
func (w *write) costs(ctx context.Context) (map[string]float64, error) {
	if w.table == nil || len(w.table.indexes) == 0 {
		return nil, nil
	}
	if w.operation == "UpdateItem" {
		after, err := w.d.item(ctx, w.table.name, w.key)
		if err != nil {
			return nil, err
		}
		w.after = after
	}
	return w.table.indexCosts(w.before, w.after), nil
}

// metered forwards a single call if its estimate is there, and charges what it
// really cost. w is nil for reads.
func (d *dynamoDB) metered(ctx context.Context, c *call, t *table, estimate bill, w *write) (*answer, error) {
	limits := d.limits.get()
	inRange, perSecond := limits.rangeOf(c, t, w)
	if !d.ranges.take(inRange, perSecond, estimate.total(), time.Now()) {
		return d.throttleRange(c, inRange), nil
	}
	if !d.meters.hold(limits, t, estimate, time.Now()) {
		d.ranges.take(inRange, perSecond, -estimate.total(), time.Now())
		return d.throttle(c), nil
	}
	really := bill{}
	defer func() {
		d.meters.settle(limits, t, estimate, really, time.Now())
		d.report(c, really)
	}()
	mode := c.doc.text("ReturnConsumedCapacity")
	in := c.doc
	in.set("ReturnConsumedCapacity", "INDEXES")
	body := encode(in)
	in.set("ReturnConsumedCapacity", mode)
	a, err := d.to.send(ctx, c, body)
	if err != nil {
		return nil, err
	}
	text, err := a.whole()
	if err != nil {
		return nil, err
	}
	if a.status != http.StatusOK {
		if w != nil && errorCode(text) == "ConditionalCheckFailedException" {
			really = bill{{table: c.target, write: true}: estimate[resource{table: c.target, write: true}]}
			return d.withOldItem(ctx, c, w, a, text)
		}
		return a, nil
	}
	out, err := parse(text)
	if err != nil {
		return nil, err
	}
	used, err := d.used(ctx, c, out, w)
	if err != nil {
		return nil, err
	}
	really = used.bill(c.target, w != nil)
	if shown := used.as(mode); shown != nil {
		out.set("ConsumedCapacity", shown)
	} else {
		delete(out, "ConsumedCapacity")
	}
	text = encode(out)
	a.setBody(text)
	sumUp(c, a, text)
	return a, nil
}

// used is the whole consumption of a single call.
func (d *dynamoDB) used(ctx context.Context, c *call, out doc, w *write) (consumed, error) {
	list := consumption(out)
	if len(list) == 0 {
		return consumed{}, nil
	}
	if c.operation == "Scan" && c.doc.truth("ConsistentRead") {
		list[0].times(2) // dynalite passes over the field
	}
	if w == nil {
		return list[0], nil
	}
	costs, err := w.costs(ctx)
	if err == nil && costs != nil {
		list[0].addIndexes(w.table, costs)
	}
	return list[0], err
}

// withOldItem adds the item to a failed condition where the caller asked for it.
func (d *dynamoDB) withOldItem(ctx context.Context, c *call, w *write, a *answer, text []byte) (*answer, error) {
	if c.doc.text("ReturnValuesOnConditionCheckFailure") != "ALL_OLD" || w.table == nil {
		return a, nil
	}
	item, err := d.item(ctx, w.table.name, w.key)
	if err != nil || item == nil {
		return a, err
	}
	out, err := parse(text)
	if err != nil {
		return nil, err
	}
	out.set("Item", item)
	text = encode(out)
	a.setBody(text)
	sumUp(c, a, text)
	return a, nil
}

// report adds consumption to the counters: the operation's, and under the
// operations "read" and "write" each table's and index's own.
func (d *dynamoDB) report(c *call, really bill) {
	c.count(Count{Consumed: really.total()})
	for r, units := range really {
		d.counters.of(DynamoDB, r.direction(), r.name())(Count{Consumed: units})
	}
}

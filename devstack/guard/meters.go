package guard

import (
	"encoding/json"
	"sync"
	"time"

	"sluice/devstack/guard/rules"
)

// consumed is a ConsumedCapacity document in its full form.
type consumed struct {
	TableName              string           `json:"TableName,omitempty"`
	CapacityUnits          float64          `json:"CapacityUnits"`
	Table                  *units           `json:"Table,omitempty"`
	LocalSecondaryIndexes  map[string]units `json:"LocalSecondaryIndexes,omitempty"`
	GlobalSecondaryIndexes map[string]units `json:"GlobalSecondaryIndexes,omitempty"`
}

type units struct {
	CapacityUnits float64 `json:"CapacityUnits"`
}

// addIndexes puts in what a write cost in the indexes, which dynalite leaves out.
func (c *consumed) addIndexes(t *table, costs map[string]float64) {
	for _, index := range t.indexes {
		cost := costs[index.Name]
		if cost == 0 {
			continue
		}
		to := &c.LocalSecondaryIndexes
		if index.Global {
			to = &c.GlobalSecondaryIndexes
		}
		if *to == nil {
			*to = map[string]units{}
		}
		(*to)[index.Name] = units{(*to)[index.Name].CapacityUnits + cost}
		c.CapacityUnits += cost
	}
}

// times multiplies every figure; transactions cost double.
func (c *consumed) times(factor float64) {
	c.CapacityUnits *= factor
	if c.Table != nil {
		c.Table.CapacityUnits *= factor
	}
	for _, indexes := range []map[string]units{c.LocalSecondaryIndexes, c.GlobalSecondaryIndexes} {
		for name, u := range indexes {
			indexes[name] = units{u.CapacityUnits * factor}
		}
	}
}

// plus adds another document of the same table.
func (c *consumed) plus(other consumed) {
	c.TableName = other.TableName
	c.CapacityUnits += other.CapacityUnits
	if other.Table != nil {
		if c.Table == nil {
			c.Table = &units{}
		}
		c.Table.CapacityUnits += other.Table.CapacityUnits
	}
	sum := func(to *map[string]units, from map[string]units) {
		for name, u := range from {
			if *to == nil {
				*to = map[string]units{}
			}
			(*to)[name] = units{(*to)[name].CapacityUnits + u.CapacityUnits}
		}
	}
	sum(&c.LocalSecondaryIndexes, other.LocalSecondaryIndexes)
	sum(&c.GlobalSecondaryIndexes, other.GlobalSecondaryIndexes)
}

// bill says whose budget it comes from.
func (c consumed) bill(table string, write bool) bill {
	b := bill{}
	own := c.CapacityUnits
	for name, u := range c.GlobalSecondaryIndexes {
		b.add(resource{table, name, write}, u.CapacityUnits)
		own -= u.CapacityUnits
	}
	if own > 0 {
		b.add(resource{table, "", write}, own)
	}
	return b
}

// as gives the form that the caller asked for: nil for NONE.
func (c consumed) as(mode string) any {
	switch mode {
	case "INDEXES":
		return c
	case "TOTAL":
		return consumed{TableName: c.TableName, CapacityUnits: c.CapacityUnits}
	}
	return nil
}

// consumption reads ConsumedCapacity, one document or a list of them.
func consumption(out doc) []consumed {
	var list []consumed
	if json.Unmarshal(out["ConsumedCapacity"], &list) == nil {
		return list
	}
	var one consumed
	if json.Unmarshal(out["ConsumedCapacity"], &one) == nil {
		return []consumed{one}
	}
	return nil
}

// indexCosts is what a write costs in each index.
func (t *table) indexCosts(before, after rules.Item) map[string]float64 {
	costs := map[string]float64{}
	for _, index := range t.indexes {
		if cost := rules.IndexWriteUnits(index, t.key, before, after); cost > 0 {
			costs[index.Name] = cost
		}
	}
	return costs
}

// billIndexes adds those costs to a bill; local indexes draw on their table.
func (t *table) billIndexes(b bill, costs map[string]float64) {
	for _, index := range t.indexes {
		r := resource{table: t.name, write: true}
		if index.Global {
			r.index = index.Name
		}
		if cost := costs[index.Name]; cost > 0 {
			b.add(r, cost)
		}
	}
}

// A resource has a throughput of its own: a table, or a global index of it.
type resource struct {
	table, index string // index "": the table and its local indexes
	write        bool
}

func (r resource) name() string {
	if r.index == "" {
		return r.table
	}
	return r.table + "/" + r.index
}

func (r resource) direction() string {
	if r.write {
		return "write"
	}
	return "read"
}

// A bill is units by resource.
type bill map[resource]float64

func (b bill) add(r resource, units float64) { b[r] += units }

func (b bill) total() float64 {
	sum := 0.0
	for _, units := range b {
		sum += units
	}
	return sum
}

// meters hold a bucket a resource.
type meters struct {
	mu      sync.Mutex
	buckets map[resource]*rules.Bucket
}

func newMeters() *meters { return &meters{buckets: map[resource]*rules.Bucket{}} }

// rate is what a resource may do in a second; 0 is no limit.
func (l Limits) rate(t *table, r resource) float64 {
	given, own := l.DynamoDB.Tables[r.name()], t.rates[r.index]
	if r.write {
		if given.Write > 0 {
			return given.Write
		}
		return own.Write
	}
	if given.Read > 0 {
		return given.Read
	}
	return own.Read
}

// hold takes all of a bill, or nothing and answers false.
func (m *meters) hold(l Limits, t *table, b bill, now time.Time) bool {
	if t == nil {
		return true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for r, units := range b {
		if !m.bucket(l, t, r, now).Fits(units, now) {
			return false
		}
	}
	for r, units := range b {
		m.bucket(l, t, r, now).Take(units, now)
	}
	return true
}

// settle replaces what was held by what it really was.
func (m *meters) settle(l Limits, t *table, held, really bill, now time.Time) {
	if t == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for r, units := range held {
		m.bucket(l, t, r, now).Take(-units, now)
	}
	for r, units := range really {
		m.bucket(l, t, r, now).Take(units, now)
	}
}

func (m *meters) bucket(l Limits, t *table, r resource, now time.Time) *rules.Bucket {
	rate := l.rate(t, r)
	capacity := rate * time.Duration(l.DynamoDB.Burst).Seconds()
	b := m.buckets[r]
	if b == nil {
		b = rules.NewBucket(rate, capacity, now)
		m.buckets[r] = b
	}
	b.Set(rate, capacity, now)
	return b
}

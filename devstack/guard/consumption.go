package guard

import (
	"encoding/json"

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

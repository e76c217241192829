package throughput

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
)

// A Charge is what a call cost, or is expected to cost, of one table or index.
type Charge struct {
	Table string
	Index string // "" for the table
	Units Milli
}

// consumed is one entry of ConsumedCapacity. Units are read loosely, since
// stand-ins write null, a number or a structure in their place (D07).
type consumed struct {
	TableName              string
	CapacityUnits          looseUnits
	Table                  looseUnits
	GlobalSecondaryIndexes map[string]looseUnits
}

// looseUnits reads 0.5, {"CapacityUnits":0.5} and null; given is false for what
// tells no amount.
type looseUnits struct {
	units Milli
	given bool
}

func (u *looseUnits) UnmarshalJSON(raw []byte) error {
	var number float64
	if json.Unmarshal(raw, &number) == nil && string(bytes.TrimSpace(raw)) != "null" {
		*u = looseUnits{Units(number), true}
		return nil
	}
	var structure struct{ CapacityUnits *float64 }
	if json.Unmarshal(raw, &structure) == nil && structure.CapacityUnits != nil {
		*u = looseUnits{Units(*structure.CapacityUnits), true}
	}
	return nil
}

// Charges reads what an answer says was consumed, in the order of tables and
// indexes; ok is false where it says nothing and an estimate has to do. A local
// index lives on its table's capacity and is charged to it. table is who is
// charged where the answer names no table.
func Charges(answer []byte, table string) (charges []Charge, ok bool) {
	var document struct{ ConsumedCapacity json.RawMessage }
	if json.Unmarshal(answer, &document) != nil {
		return nil, false
	}
	for _, c := range consumedEntries(document.ConsumedCapacity) {
		name := table
		if c.TableName != "" {
			name = TableName(c.TableName)
		}
		total, indexes := c.CapacityUnits, Milli(0)
		for _, index := range slices.Sorted(maps.Keys(c.GlobalSecondaryIndexes)) {
			u := c.GlobalSecondaryIndexes[index]
			if !u.given {
				continue
			}
			charges = append(charges, Charge{Table: name, Index: index, Units: u.units})
			indexes += u.units
			ok = true
		}
		switch {
		case total.given:
			charges = append(charges, Charge{Table: name, Units: max(total.units-indexes, 0)})
		case c.Table.given:
			charges = append(charges, Charge{Table: name, Units: c.Table.units})
		default:
			continue
		}
		ok = true
	}
	return charges, ok
}

// consumedEntries reads an entry, a list of them, or a bare number.
func consumedEntries(raw json.RawMessage) []consumed {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '[':
		var elements []json.RawMessage
		_ = json.Unmarshal(raw, &elements) // a list that can't be read tells nothing
		var all []consumed
		for _, element := range elements {
			all = append(all, consumedEntries(element)...)
		}
		return all
	case '{':
		var one consumed
		if json.Unmarshal(raw, &one) != nil {
			return nil
		}
		return []consumed{one}
	default:
		var bare looseUnits
		if json.Unmarshal(raw, &bare) != nil {
			return nil
		}
		return []consumed{{CapacityUnits: bare}}
	}
}

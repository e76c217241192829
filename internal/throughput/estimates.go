package throughput

import (
	"maps"
	"slices"
)

// Estimates remembers what calls cost lately, by table and by what they have in
// common, to charge the next one before its answer tells. The zero value knows
// nothing; then the size of the request decides.
type Estimates struct {
	known map[estimateKey]*estimate
}

type estimateKey struct{ table, shape string }

// estimate is the moving average of what a call cost on its table, in
// hundredths of what its size told, and on the table's indexes, per unit of the
// table. The second form scales with batches.
type estimate struct {
	table   Milli // hundredths
	indexes map[string]Milli
}

const (
	parts      = 8 // a new figure counts for an eighth
	hundred    = 100
	mostShapes = 10_000
	negligible = Unit / 20
)

// Charges estimates a request, per table and index, in order.
func (e *Estimates) Charges(r Request) (charges []Charge) {
	for _, table := range r.Tables {
		size := r.sizes[table]
		known := e.known[estimateKey{table, r.shape}]
		if known == nil {
			charges = append(charges, e.first(r, table, size)...)
			continue
		}
		before := len(charges)
		for _, index := range slices.Sorted(maps.Keys(known.indexes)) {
			if share := known.indexes[index]; share >= negligible {
				charges = append(charges, Charge{Table: table, Index: index, Units: max(mulDiv(size, share, Unit), 1)})
			}
		}
		// A read of a global index costs its table nothing and need not wait for it.
		if units := size * known.table / hundred; units > 0 || len(charges) == before {
			charges = append(charges, Charge{Table: table, Units: max(units, 1)})
		}
	}
	return charges
}

// first is the estimate before any answer: a read of an index costs the index,
// everything else its table.
func (e *Estimates) first(r Request, table string, size Milli) []Charge {
	if r.Index != "" && r.Direction == Read {
		return []Charge{{Table: table, Index: r.Index, Units: size}}
	}
	return []Charge{{Table: table, Units: size}}
}

// Learn takes in what a request really cost.
func (e *Estimates) Learn(r Request, charges []Charge) {
	for _, table := range r.Tables {
		size := max(r.sizes[table], 1)
		key := estimateKey{table, r.shape}
		known := e.known[key]
		fresh := known == nil
		if fresh {
			known = &estimate{indexes: map[string]Milli{}}
			e.remember(key, known)
		}
		seen := map[string]Milli{}
		var units Milli
		for _, c := range charges {
			switch {
			case c.Table != table:
			case c.Index == "":
				units += c.Units
			default:
				seen[c.Index] += mulDiv(c.Units, Unit, size)
			}
		}
		known.table = blend(known.table, units*hundred/size, fresh)
		for index := range seen {
			if _, ok := known.indexes[index]; !ok {
				known.indexes[index] = seen[index]
			}
		}
		for index, share := range known.indexes {
			known.indexes[index] = blend(share, seen[index], false)
		}
	}
}

func (e *Estimates) remember(key estimateKey, known *estimate) {
	if e.known == nil || len(e.known) >= mostShapes {
		e.known = map[estimateKey]*estimate{} // bounded; what is in use is learned again at once
	}
	e.known[key] = known
}

func blend(old, seen Milli, fresh bool) Milli {
	if fresh {
		return seen
	}
	return old + (seen-old)/parts
}

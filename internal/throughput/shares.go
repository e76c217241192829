package throughput

import (
	"math"
	"slices"
)

// Demand is what one worker asks for, by class, in thousandths a second.
type Demand [Priorities]Milli

// Total is the demand of all classes.
func (d Demand) Total() (total Milli) {
	for _, units := range d {
		total += units
	}
	return total
}

// Shares divides capacity among the workers that made the demands. Higher
// classes come first, but at every class a tenth of what is left is kept for the
// classes below it as far as they ask for it. Within a class the division is
// max-min fair: nobody gets less than another but by asking for less. What nobody
// asks for is divided evenly, so that a burst finds something. The shares add up
// to the capacity, but for what does not divide: less than a thousandth of a unit
// a worker and class.
func Shares(capacity Milli, demands []Demand) []Milli {
	shares := make([]Milli, len(demands))
	division := Divide(capacity, demands)
	for i, d := range demands {
		shares[i] = division.Share(d)
	}
	return shares
}

// A Division says how a capacity is divided without naming who gets it, so that
// the share of one worker of thousands is known at once.
type Division struct {
	most  [Priorities]Milli // what anybody gets at most of a class
	spare Milli             // what everybody gets besides
}

// Share is what comes to a demand.
func (v Division) Share(d Demand) Milli {
	share := v.spare
	for class, units := range d {
		share += min(units, v.most[class])
	}
	return share
}

// Divide finds the division that Shares tells of.
func Divide(capacity Milli, demands []Demand) (v Division) {
	if len(demands) == 0 {
		return v
	}
	left, below := max(capacity, 0), Milli(0)
	for _, d := range demands {
		below += d.Total()
	}
	wants := make([]Milli, 0, len(demands))
	for class := range Priorities {
		wants = wants[:0]
		for _, d := range demands {
			if d[class] > 0 {
				wants = append(wants, d[class])
				below -= d[class]
			}
		}
		var given Milli
		v.most[class], given = level(left-min(left/(keep+1), below), wants)
		left -= given
	}
	v.spare = left / Milli(len(demands))
	return v
}

// level is how much each gets at most so that all together get as much of the
// amount as they want, and what they get then.
func level(amount Milli, wants []Milli) (most, given Milli) {
	slices.Sort(wants)
	for n, want := range wants {
		rest := Milli(len(wants) - n)
		if want > (amount-given)/rest {
			most = (amount - given) / rest
			return most, given + most*rest
		}
		given += want
	}
	return math.MaxInt64, given
}

package throughput

import "slices"

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
// to the capacity.
func Shares(capacity Milli, demands []Demand) []Milli {
	shares := make([]Milli, len(demands))
	if len(demands) == 0 {
		return shares
	}
	left := max(capacity, 0)
	below := Milli(0)
	for _, d := range demands {
		below += d.Total()
	}
	wants := make([]Milli, len(demands))
	for class := range Priorities {
		for i, d := range demands {
			wants[i] = d[class]
			below -= d[class]
		}
		left -= fill(shares, left-min(left/(keep+1), below), wants)
	}
	for i := range wants {
		wants[i] = left
	}
	fill(shares, left, wants)
	return shares
}

// fill adds to the shares, max-min fair, up to what each wants and up to the
// amount in all; it returns what it gave. The least demand is served first, each
// with an even part of what remains; a remainder that does not divide goes to the
// greatest.
func fill(shares []Milli, amount Milli, wants []Milli) (given Milli) {
	order := make([]int, len(wants))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case wants[a] < wants[b]:
			return -1
		case wants[a] > wants[b]:
			return 1
		default:
			return 0
		}
	})
	for n, i := range order {
		give := min(wants[i], (amount-given)/Milli(len(order)-n))
		shares[i] += give
		given += give
	}
	return given
}

package throughput

import "time"

// Arrivals count the newcomers of a fleet by the second, to tell how many more are
// on their way: workers that are deployed together, or come back together after an
// outage, begin within seconds of one another. Exported fields are for carrying it
// on.
type Arrivals struct {
	At     time.Time `json:"at"` // the second that is counted
	Now    int       `json:"now"`
	Before int       `json:"before"` // in the second before
}

// comingFor is for how long those arrivals are thought to go on that are seen now.
const comingFor = 2 * time.Second

// add counts a newcomer.
func (a *Arrivals) add(now time.Time) {
	*a = a.at(now)
	a.Now++
}

// at is the count as of now.
func (a Arrivals) at(now time.Time) Arrivals {
	second := now.Truncate(time.Second)
	switch {
	case second.Equal(a.At):
		return a
	case second.Equal(a.At.Add(time.Second)):
		return Arrivals{At: second, Before: a.Now}
	default:
		return Arrivals{At: second}
	}
}

// coming is how many more are to be expected.
func (a Arrivals) coming(now, started time.Time) Milli {
	counted := a.at(now)
	horizon := max(comingFor, young-now.Sub(started))
	return Milli(max(counted.Before, counted.Now)) * Milli(horizon) / Milli(time.Second)
}

package quiescence

import (
	"math"
	"time"

	"sluice/internal/document"
	"sluice/internal/duration"
)

// The strategies by which the pause between two polls follows the number of
// polls that found nothing new.
const (
	Constant    = "constant"    // base
	Inverse     = "inverse"     // base/repeats, rounded down to seconds
	Exponential = "exponential" // base·e^(−repeats), rounded up to seconds
)

// shortestDelay keeps a typing error from turning the watch into a hot loop.
const shortestDelay = 100 * time.Millisecond

// Delay is the pause between two polls.
type Delay struct {
	Strategy string            `json:"strategy"`
	Base     duration.Duration `json:"base"`
	Min      duration.Duration `json:"min"`
	Max      duration.Duration `json:"max"` // 0: base
}

// DefaultDelay polls every thirty seconds, as the observer this was modelled on.
func DefaultDelay() Delay {
	return Delay{Strategy: Constant, Base: duration.Duration(30 * time.Second), Min: defaultMin}
}

const defaultMin = duration.Duration(time.Second)

// After is the pause after a poll that left the number of repeats at repeats.
// Both falling strategies of the original end at no pause at all (inverse from
// 31 repeats on at a base of 30 s); the clamp to [min, max] is what prevents it.
func (d Delay) After(repeats int) time.Duration {
	base := d.Base.Std()
	pause := base
	switch {
	case repeats <= 0:
	case d.Strategy == Inverse:
		pause = (base / time.Duration(repeats)).Truncate(time.Second)
	case d.Strategy == Exponential:
		pause = time.Duration(math.Ceil(base.Seconds()*math.Exp(-float64(repeats)))) * time.Second
	}
	return min(max(pause, d.shortest()), d.Longest())
}

// Window is how long it takes from a poll that saw a change to the poll that is
// the repeats-th without one.
func (d Delay) Window(repeats int) time.Duration {
	if d.Strategy == Constant {
		return time.Duration(repeats) * d.After(0)
	}
	var window time.Duration
	for i := range repeats {
		window += d.After(i)
	}
	return window
}

// Longest is the upper end of the clamp.
func (d Delay) Longest() time.Duration {
	if d.Max == 0 {
		return d.Base.Std()
	}
	return d.Max.Std()
}

// shortest is the lower end of the clamp. The default of one second gives way to
// a base below it, so that a short base need not be given twice.
func (d Delay) shortest() time.Duration {
	if d.Min == defaultMin {
		return min(d.Min.Std(), d.Longest())
	}
	return d.Min.Std()
}

// Check adds the faults of d, found at path.
func (d Delay) Check(faults *document.Faults, path string) {
	switch d.Strategy {
	case Constant, Inverse, Exponential:
	default:
		faults.Add(path+".strategy", "%q is none of %q, %q, %q", d.Strategy, Constant, Inverse, Exponential)
	}
	if d.Base.Std() < shortestDelay {
		faults.Add(path+".base", "%s is below %s", d.Base, shortestDelay)
	}
	if d.Min.Std() < shortestDelay {
		faults.Add(path+".min", "%s is below %s", d.Min, shortestDelay)
	}
	if d.shortest() > d.Longest() {
		faults.Add(path+".min", "%s is above the maximum of %s", d.Min, d.Longest())
	}
}

package throughput

import (
	"math/bits"
	"time"
)

// How a ceiling with a base moves: down in proportion to what was throttled, at
// most once a second; up with time alone.
const (
	downEvery = time.Second
	mostDown  = 3 // tenths of the ceiling in one step
	floorPart = 4 // never below a quarter
	upPart    = 100
	upEvery   = time.Second
)

// A Ceiling is what the fleet may consume of one resource a second. With a base,
// what is provisioned, it starts there, sinks when the service throttles and comes
// back with time. Without one there is no ceiling until the service throttles;
// what it is then is learned (learned.go). The zero value is a ceiling without
// base. Exported fields are for carrying it on.
type Ceiling struct {
	Base    Milli     `json:"base"`    // utilization × provisioned, or where it was learned; 0: none
	Now     Milli     `json:"now"`     // in force at At
	Learned bool      `json:"learned"` // the base was learned from a throttle
	At      time.Time `json:"at"`
	Down    time.Time `json:"down"`    // last throttle that counted
	Strikes int       `json:"strikes"` // limits found one after the other, while it is learned
}

// Rebase sets the base, 0 for none, and keeps how far it has sunk, in proportion.
func (c *Ceiling) Rebase(now time.Time, base Milli) {
	c.rise(now)
	switch {
	case base == 0 && c.Learned, base == c.Base && !c.Learned:
		return
	case base == 0:
		*c = Ceiling{At: now}
		return
	case c.Base == 0 || c.Learned:
		c.Now = base
	default:
		c.Now = max(mulDiv(base, c.Now, c.Base), base/floorPart, 1)
	}
	c.Base, c.Learned, c.Strikes = base, false, 0
}

// In is the ceiling in force at now; limited is false when there is none.
func (c *Ceiling) In(now time.Time) (ceiling Milli, limited bool) {
	c.rise(now)
	return c.Now, c.Base > 0
}

// A Refusal is what the fleet tells of calls that the service throttled.
type Refusal struct {
	Calls    int
	Consumed Milli // what went through since the last report
	Fastest  Milli // the highest rate of it, a second
	Lately   Milli // the highest rate of the last minute
}

// Throttled takes in a refusal. With a base a step down is the refused part,
// between a half and thirty hundredths of the ceiling; a second step waits for a
// second.
func (c *Ceiling) Throttled(now time.Time, r Refusal) {
	c.rise(now)
	switch {
	case r.Calls <= 0:
		return
	case c.Base == 0 || c.Learned:
		c.learn(now, r)
		return
	case now.Sub(c.Down) < downEvery && !c.Down.IsZero():
		return
	}
	step := min(max(c.refused(r), c.Now/200), c.Now*mostDown/10)
	c.Now = max(c.Now-step, c.Base/floorPart, 1)
	c.Down = now
}

// refused is the refused part of what is in force.
func (c *Ceiling) refused(r Refusal) Milli {
	refused := Milli(r.Calls) * Unit
	return mulDiv(c.Now, refused, refused+max(r.Consumed, 0))
}

// rise lets the ceiling come back by a hundredth of its base for every second
// since the last look. It counts whole seconds, so looking often changes nothing.
func (c *Ceiling) rise(now time.Time) {
	if c.At.IsZero() || c.Base == 0 {
		c.At = now
		return
	}
	steps := Milli(now.Sub(c.At) / upEvery)
	if steps <= 0 {
		return
	}
	if c.Learned {
		c.grow(now)
		return
	}
	c.At = c.At.Add(time.Duration(steps) * upEvery)
	c.Now = min(c.Now+max(mulDiv(c.Base, min(steps, 1000), upPart), 1), c.Base)
}

// mulDiv is a × b / c, rounded down, for amounts that may overflow on the way.
func mulDiv(a, b, c Milli) Milli {
	if a <= 0 || b <= 0 || c <= 0 {
		return 0
	}
	high, low := bits.Mul64(uint64(a), uint64(b))
	if high >= uint64(c) {
		return Milli(maxUnits) * Unit
	}
	quotient, _ := bits.Div64(high, low, uint64(c))
	return Milli(min(quotient, uint64(maxUnits)*uint64(Unit)))
}

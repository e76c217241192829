package throughput

import (
	"math/bits"
	"time"
)

// How a ceiling moves (A-U6, A-W5 to A-W8): down in proportion to what was
// throttled, at most once a second; up with time alone.
const (
	downEvery   = time.Second
	mostDown    = 3 // tenths of the ceiling in one step
	floorPart   = 4 // never below a quarter
	upPart      = 100
	upEvery     = time.Second
	learnedPart = 9 // tenths of what was consumed when a table without a ceiling first throttled
)

// A Ceiling is what the fleet may consume of one resource a second. It starts at
// its base, sinks when the service throttles and comes back with time. Without a
// base there is no ceiling until the service throttles; what was consumed then is
// the ceiling learned, which grows until it has doubled and is then forgotten. The
// zero value is a ceiling without base. Exported fields are for carrying it on.
type Ceiling struct {
	Base    Milli     `json:"base"`    // utilization × provisioned, or learned; 0: none
	Now     Milli     `json:"now"`     // in force at At
	Learned bool      `json:"learned"` // the base was learned from a throttle
	At      time.Time `json:"at"`
	Down    time.Time `json:"down"` // last step down
}

// Rebase sets the base, 0 for none, and keeps how far it has sunk, in proportion.
func (c *Ceiling) Rebase(now time.Time, base Milli) {
	c.recover(now)
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
	c.Base, c.Learned = base, false
}

// In force at now; limited is false when there is none.
func (c *Ceiling) In(now time.Time) (ceiling Milli, limited bool) {
	c.recover(now)
	return c.Now, c.Base > 0
}

// Throttled reports that the service refused so many calls while the fleet
// consumed an amount, at a rate a second. A step down is the refused part, between
// a half and thirty hundredths of the ceiling; a second one waits for a second.
func (c *Ceiling) Throttled(now time.Time, calls int, consumed, rate Milli) {
	c.recover(now)
	if calls <= 0 {
		return
	}
	if c.Base == 0 {
		c.Base = max(rate*learnedPart/10, Unit)
		c.Now, c.Learned, c.Down = c.Base, true, now
		return
	}
	if now.Sub(c.Down) < downEvery && !c.Down.IsZero() {
		return
	}
	refused := Milli(calls) * Unit
	step := mulDiv(c.Now, refused, refused+max(consumed, 0))
	step = min(max(step, c.Now/200), c.Now*mostDown/10)
	c.Now = max(c.Now-step, c.Base/floorPart, 1)
	c.Down = now
}

// recover lets the ceiling rise by a hundredth of its base for every second
// since the last look. It counts whole seconds, so looking often changes nothing.
func (c *Ceiling) recover(now time.Time) {
	if c.At.IsZero() || c.Base == 0 {
		c.At = now
		return
	}
	steps := Milli(now.Sub(c.At) / upEvery)
	if steps <= 0 {
		return
	}
	c.At = c.At.Add(time.Duration(steps) * upEvery)
	risen := c.Now + max(mulDiv(c.Base, min(steps, 1000), upPart), 1)
	switch {
	case !c.Learned:
		c.Now = min(risen, c.Base)
	case risen >= 2*c.Base:
		*c = Ceiling{At: c.At}
	default:
		c.Now = risen
	}
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

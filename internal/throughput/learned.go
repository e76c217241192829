package throughput

import "time"

// How a ceiling is learned that the service does not tell, as of on-demand tables
// and of the keys of a partition.
const (
	// holdFirst is how long a ceiling stays where it was learned before it grows;
	// twice as long with every limit found again, at most holdMost.
	holdFirst = time.Second
	holdMost  = 16 * time.Second
	// strikesLast is how long a limit that was found is remembered.
	strikesLast = time.Minute
	// forgetAt is how many times what was learned went through unthrottled when the
	// ceiling is forgotten.
	forgetAt = 8
	// goodPart is the part, in tenths, of what went through that a limit leaves.
	goodPart = 9
)

// learn takes in a refusal where no ceiling is known, or a learned one. The first
// one says little about how much the service takes: it begins from the highest
// rate seen lately. A further one within a minute is a limit found: nine tenths of
// what went through meanwhile, and it stays there longer. Where hardly anything
// went through, the service is out of order rather than short of capacity, and
// growth begins again after a second.
func (c *Ceiling) learn(now time.Time, r Refusal) {
	fastest := max(r.Fastest, Unit)
	switch {
	case c.Base == 0 && (c.Down.IsZero() || now.Sub(c.Down) >= strikesLast):
		c.Now, c.Strikes = max(fastest, r.Lately), 1
	case c.Base > 0 && now.Sub(c.Down) < downEvery:
		return
	case c.Base == 0:
		c.Now = max(fastest*goodPart/10, Unit)
		c.Strikes++
	default:
		least := c.Now - c.Now*mostDown/10
		if r.Fastest >= c.Now/forgetAt {
			c.Strikes++
		}
		c.Now = max(min(fastest*goodPart/10, c.Now), least, Unit)
	}
	c.Base, c.Learned, c.At, c.Down = c.Now, true, now, now
}

// hold is how long a learned ceiling stays where it is after a refusal.
func (c *Ceiling) hold() time.Duration {
	hold := holdFirst
	for n := 1; n < c.Strikes && hold < holdMost; n++ {
		hold *= 2
	}
	return hold
}

// grow doubles a learned ceiling with every second that nothing was throttled, and
// forgets it when that has gone well for long enough.
func (c *Ceiling) grow(now time.Time) {
	begins := c.Down.Add(c.hold())
	from := c.At
	if begins.After(from) {
		from = begins
	}
	for now.Sub(from) >= upEvery {
		from = from.Add(upEvery)
		c.Now *= 2
		if c.Now >= forgetAt*c.Base {
			*c = Ceiling{At: now, Down: c.Down, Strikes: c.Strikes}
			return
		}
		c.At = from
	}
}

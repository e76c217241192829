package recordbatch

import "time"

const (
	// leastConnections are open to a queue that follows the latency, and
	// mostConnections at most.
	leastConnections = 8
	mostConnections  = 32
	// perConnection is the latency that one more connection makes up for. A full
	// request takes a producer and a service of this size about as long to make and
	// to take, so that so many keep both of them busy.
	perConnection = 250 * time.Microsecond
	// latencyWindow is how long a latency is remembered, once or twice.
	latencyWindow = 5 * time.Second
)

// connections is how many requests may be in flight: by the least latency of late.
// Answers that take longer since somebody is busy call for no more of them.
type connections struct {
	fixed       int // set by whoever runs the worker, or 0
	least, last time.Duration
	until       int64
	usual       time.Duration // smoothed
}

func (c *connections) limit() int {
	if c.fixed > 0 {
		return c.fixed
	}
	least := c.least
	if least == 0 || c.last > 0 && c.last < least {
		least = c.last
	}
	return min(max(leastConnections, int(least/perConnection)), mostConnections)
}

// answered learns from an answer.
func (c *connections) answered(took time.Duration, now int64) {
	if now >= c.until {
		c.last, c.least, c.until = c.least, 0, now+int64(latencyWindow)
	}
	if c.least == 0 || took < c.least {
		c.least = took
	}
	if c.usual == 0 {
		c.usual = took
	}
	c.usual += (took - c.usual) / 8
}

// linger is how long a record waits for others while full requests go out all the
// time: no longer than is short beside an answer, since then it comes from callers
// who wait for answers.
func (c *connections) linger() time.Duration {
	return min(max(c.usual/8, leastLinger), mostLinger)
}

const (
	leastLinger = 250 * time.Microsecond
	mostLinger  = 5 * time.Millisecond
)

package throughput

import (
	"slices"
	"strings"
	"time"

	"sluice/internal/duration"
)

// How leases are timed. A worker renews when three quarters of one are over, of a
// steady one four fifths, so that a late answer does not leave it without; a dead
// worker's share comes back when its lease ends.
const (
	LeaseTime  = 8 * time.Second  // of a share that may change soon
	SteadyTime = 30 * time.Second // of one that stays alike, where the worker names no other
	MaxSteady  = 2 * time.Minute  // the longest that it may name
	// alikeEnough is how many leases in a row are alike before they are longer.
	alikeEnough = 3
	// smallTime is how long a lease of next to nothing may be.
	smallTime = 5 * time.Minute
	// A fleet renews about eight leases a second, however large it is: ten are what
	// one workflow answers in good time.
	leastEach    = time.Second / 6  // of a lease, for each worker of the fleet
	againEach    = time.Second / 30 // of the time before one that is short asks again
	spreadEach   = time.Second / 10 // of the time over which those ask who want more
	againSoonest = 2 * time.Second
	// servedWithin bounds that: a share above 0 is to come within half a minute.
	servedWithin = 10 * time.Second
	shortEach    = time.Second / 64
	// perSecond is how many leases are to be renewed in any second, where it can be
	// helped.
	perSecond = 7
)

// put records the lease and says how long it is, and when to ask again.
func (o *Owner) put(now time.Time, h Holder, g grant, r LeaseRequest) Lease {
	n := time.Duration(len(o.Holders) + 1)
	length := LeaseTime
	switch {
	case g.long:
		length = smallTime
	case h.Alike >= alikeEnough:
		length = SteadyTime
		if steady := r.Steady.Std(); steady > 0 {
			length = min(max(steady, LeaseTime), MaxSteady)
		}
	}
	if length = max(length, n*leastEach); n > manyWorkers {
		length = o.spaced(now, length)
	}
	if now.Before(g.from) {
		length = max(length, min(g.from.Sub(now), MaxSteady)*4/3)
	}
	_, limited := o.Ceiling.In(now)
	lease := Lease{
		UnitsPerSecond: h.Units, Unlimited: h.Unlimited, AsOf: now, ExpiresAt: now.Add(length), Paused: o.Paused,
		Learned: limited && o.Ceiling.Learned && !o.Paused, Unknown: !o.Ready() && !o.Paused,
		Spread: duration.Duration(max(n*spreadEach, 100*time.Millisecond)),
	}
	h.ExpiresAt = lease.ExpiresAt
	i, _ := slices.BinarySearchFunc(o.Holders, h, func(a, b Holder) int { return strings.Compare(a.Worker, b.Worker) })
	o.Holders = slices.Insert(o.Holders, i, h)

	again := o.renewal(length)
	if g.short || g.early || lease.Unknown || (lease.Learned && h.Units < h.Demand.Total()) {
		again = min(again, o.soon(n))
	}
	if now.Before(g.from) {
		again = min(g.from.Sub(now), length*3/4)
	}
	lease.RenewAfter = duration.Duration(again)
	return lease
}

// renewal is when a lease is renewed. Of half a minute and more a fifth is time enough
// for a late answer, and spares a lease and a look-up in sixteen. A large fleet keeps
// the quarter: its owner has much to answer.
func (o *Owner) renewal(length time.Duration) time.Duration {
	if length >= SteadyTime && len(o.Holders) <= manyWorkers {
		return length * 4 / 5
	}
	return length * 3 / 4
}

// spaced makes a lease longer, twice as long at most, until it is to be renewed in a second
// in which few others are: workers that began together, or were short together, do
// not come back together.
func (o *Owner) spaced(now time.Time, length time.Duration) time.Duration {
	due := int(length * 3 / 4 / time.Second)
	planned := make([]int, due+1)
	for _, h := range o.Holders {
		renews := int(h.At.Add(o.renewal(h.ExpiresAt.Sub(h.At))).Sub(now)/time.Second) - due
		if renews >= 0 && renews < len(planned) {
			planned[renews]++
		}
	}
	best := 0
	for later, others := range planned {
		if others < planned[best] {
			best = later
		}
		if others < perSecond {
			break
		}
	}
	return length + time.Duration(best)*time.Second*4/3
}

// soon is when one that has clearly less than it should have asks again. Those of a
// fleet that begins together are spread, and where they are very many they come later
// than half a minute rather than all at once.
func (o *Owner) soon(n time.Duration) time.Duration {
	short := time.Duration(0)
	for _, h := range o.Holders {
		if h.Short {
			short++
		}
	}
	base := min(max(againSoonest, n*againEach), max(servedWithin, short*shortEach))
	return base + base*time.Duration(o.Leases%8)/16
}

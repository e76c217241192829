package scheduler

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"sluice/internal/throughput"
)

const (
	// demandPeriod is in which time a worker would like to send what waits.
	demandPeriod = throughput.LeaseTime * 3 / 4
	// unknownWait is after which time a call asks again where no rate is known, twice
	// as long at most.
	unknownWait = time.Second
)

// A deferral is demand that waits at Temporal.
type deferral struct {
	due   time.Time
	class int
	units throughput.Milli
	timed bool // due when its turn is likely to come, not just soon
}

// maxDeferrals bounds what is remembered; beyond it the delay is at its longest
// anyway.
const maxDeferrals = 10_000

// deferCall sends a call back to Temporal. The delay is when its turn is likely to
// come, behind what waits here and what was sent back before it, a little early,
// so that the worker doesn't run dry when some come late; a second or two where no
// rate is known, and soon after the next lease where that is likely to give more. It is
// demand meanwhile on every account that the call needs.
func (t *Ticket) deferCall(now time.Time, wait time.Duration, paused bool) error {
	if paused {
		return &Later{Delay: pausedFor, Reason: t.paused().String() + " is paused"}
	}
	class := t.entry.Class
	behind, slowest := t.behind(now)
	delay := min(max((wait+behind)*8/10, time.Second), throughput.MaxWait)
	if slowest.short() {
		delay = min(delay, max(slowest.tenant.Next().Sub(now), 0)+again())
	}
	reason := "no capacity left of " + slowest.resource.String()
	unknown := t.unknown()
	if unknown != nil {
		delay = again()
		reason = "not known yet how much " + unknown.resource.String() + " takes"
	}
	for _, c := range t.charges {
		c.account.sentBack(deferral{now.Add(delay), class, c.units, unknown == nil})
	}
	return &Later{Delay: delay, Reason: reason}
}

// again is a delay of a second or two.
func again() time.Duration { return unknownWait + time.Duration(rand.Int64N(int64(unknownWait))) }

// thin sends those calls of a line back, in their order, that came while no rate was
// known and whose turn is farther off than calls wait here: left to give up by
// themselves they would come again behind all that asks meanwhile.
func (s *Scheduler) thin(l *line, now time.Time) {
	var waiting []*Ticket
	for _, g := range l.groups {
		for t := range g.queue.All() {
			waiting = append(waiting, t)
		}
	}
	slices.SortFunc(waiting, func(a, b *Ticket) int {
		if order := cmp.Compare(a.entry.Class, b.entry.Class); order != 0 {
			return order
		}
		if a.entry.Before(&b.entry) {
			return -1
		}
		return 1
	})
	for _, t := range waiting {
		if wait, paused := t.wait(now); wait > overtaken || paused {
			t.group.queue.Remove(&t.entry)
			s.left(t)
			t.back <- t.deferCall(now, overtaken, paused)
		}
	}
}

// sentBack remembers what was sent back.
func (a *account) sentBack(d deferral) {
	if len(a.deferred) < maxDeferrals {
		a.deferred = append(a.deferred, d)
		a.count(d, 1)
	}
}

// count adds a deferral to what waits at Temporal, or takes it out.
func (a *account) count(d deferral, sign throughput.Milli) {
	a.backlog[d.class] += sign * d.units
	if d.timed {
		a.ahead[d.class] += sign * d.units
	}
}

// forget drops the deferrals that are due: they have come again, here or at
// another worker.
func (a *account) forget(now time.Time) {
	kept := a.deferred[:0]
	for _, d := range a.deferred {
		if d.due.After(now) {
			kept = append(kept, d)
			continue
		}
		a.count(d, -1)
	}
	a.deferred = kept
}

// unknown is the first of the call's accounts of which no rate is known.
func (t *Ticket) unknown() *account {
	for _, c := range t.charges {
		if !c.account.known() {
			return c.account
		}
	}
	return nil
}

// behind is how long it takes what was sent back before the call and goes before it,
// and by which of its accounts that is longest.
func (t *Ticket) behind(now time.Time) (longest time.Duration, slowest *account) {
	most := -1.0
	for _, c := range t.charges {
		c.account.forget(now)
		ahead := throughput.Milli(0)
		for class := range t.entry.Class + 1 {
			ahead += c.account.ahead[class]
		}
		seconds, own := 0.0, 0.0
		if rate, limited := c.account.budget.Rate(); limited && rate > 0 {
			seconds, own = float64(ahead)/float64(rate), float64(c.units)/float64(rate)
		}
		if seconds+own > most {
			most, slowest = seconds+own, c.account
			longest = c.account.growing(time.Duration(seconds * float64(time.Second)))
		}
	}
	return longest, slowest
}

// paused is the first of the call's accounts that is.
func (t *Ticket) paused() throughput.Resource {
	for _, c := range t.charges {
		if c.account.paused() {
			return c.account.resource
		}
	}
	return t.charges[0].account.resource
}

// wanted is what the worker would like to send a second, as far as it sees now: what
// it sent lately, and what waits here or was sent back.
func (a *account) wanted() throughput.Demand {
	within := throughput.Milli(demandPeriod / time.Second)
	if (a.rate == throughput.Demand{} && a.sent == throughput.Demand{}) {
		within = 1 // nothing is known but what waits
	}
	demand := a.rate
	for class := range demand {
		demand[class] += (a.waiting[class] + a.backlog[class]) / within
	}
	return demand
}

// asked is what the worker asks for with a lease: also what it owes, but for a few
// units, which any call may leave behind and time pays.
func (a *account) asked(now time.Time) throughput.Demand {
	demand, busiest := a.wanted(), throughput.Class(0)
	for class := range demand {
		if demand[class] > demand[busiest] {
			busiest = class
		}
	}
	owed := -a.budget.Level(now) - fewUnits
	demand[busiest] += max(owed, 0) / throughput.Milli(demandPeriod/time.Second)
	return demand
}

// fewUnits are so few that nothing can be told from when they were sent.
const fewUnits = 4 * throughput.Unit

// sample takes what was sent since the last lease into the smoothed rate, which
// follows a rise at once and a fall by halves. Of a few units now and then it is the
// mean of some minutes.
func (a *account) sample(now time.Time) {
	elapsed := max(now.Sub(a.since), time.Second)
	for class := range a.rate {
		rate := float64(a.sent[class]) / elapsed.Seconds()
		last := float64(a.rate[class])
		if a.sent[class] <= fewUnits && a.rate[class] <= throughput.Unit {
			last += (rate - last) * min(elapsed.Seconds()/fewOver.Seconds(), 0.5)
		} else {
			last = max((last+rate)/2, rate)
		}
		a.rate[class] = throughput.Milli(math.Round(last))
	}
}

// fewOver is the time over which a few units are counted.
const fewOver = 2 * time.Minute

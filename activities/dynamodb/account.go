package dynamodb

import (
	"time"

	"sluice/activities"
	"sluice/internal/throughput"
)

// An account is one worker's share of the budget of a resource.
type account struct {
	resource throughput.Resource
	budget   *throughput.Budget
	line     *line   // of calls that have this account first
	lines    []*line // of all calls that need it
	known    bool    // a lease was given, or given up waiting for
	paused   bool
	leasing  bool          // its lease loop runs
	kick     chan struct{} // asks for a lease before its time

	share    throughput.Milli // of the last lease
	expires  time.Time
	failures int       // leases in a row that were not answered
	used     time.Time // last demand
	cut      time.Time // last own step down

	sent      throughput.Demand // since the last lease
	rate      throughput.Demand // of sending, a second, smoothed
	waiting   throughput.Demand // cost of what waits here
	deferred  []deferral        // what was sent back to Temporal and will come again
	consumed  throughput.Milli  // since the last lease
	throttled int
	since     time.Time // of the last lease
	figures   figures
}

// A deferral is demand that waits at Temporal.
type deferral struct {
	due   time.Time
	class int
	units throughput.Milli
}

// account finds or opens an account, and sees to it that it leases its share.
func (s *scheduler) account(r throughput.Resource, now time.Time) *account {
	a := s.accounts[r]
	if a == nil {
		a = &account{
			resource: r,
			budget:   throughput.NewBudget(now, saved),
			line:     &line{},
			kick:     make(chan struct{}, 1),
			figures:  newFigures(s.metrics, r),
		}
		a.line.first = a
		s.accounts[r] = a
	}
	a.used = now
	if s.owner == nil {
		a.known = true
		a.budget.SetUnlimited(now)
		return a
	}
	if !a.leasing && s.ctx.Err() == nil {
		a.leasing, a.since = true, now
		s.loops.Go(func() { s.lease(a) })
	}
	return a
}

func (a *account) ready(now time.Time) bool { return a.known && !a.paused && a.budget.Ready(now) }

// wait is how long until the account is ready after calls that cost ahead. The
// first lease, and the next one of a worker that has no share yet, come in a moment.
func (a *account) wait(now time.Time, ahead throughput.Milli) time.Duration {
	switch {
	case !a.known:
		return 0
	case a.paused:
		return throughput.MaxWait
	default:
		if rate, limited := a.budget.Rate(); limited && rate == 0 {
			return 0
		}
		return a.budget.Wait(now, ahead)
	}
}

// consume records what was really consumed.
func (a *account) consume(units throughput.Milli) {
	a.consumed += units
	a.figures.consumed(units)
}

func (a *account) joined(l *line) {
	for _, known := range a.lines {
		if known == l {
			return
		}
	}
	a.lines = append(a.lines, l)
}

// deferCall sends a call back to Temporal. The delay is when its turn is likely to
// come, behind what waits here and what was sent back before it, a little early,
// so that the worker doesn't run dry when some come late. It is demand meanwhile
// on every account that the call needs.
func (a *account) deferCall(now time.Time, t *ticket, wait time.Duration, paused bool) error {
	if paused {
		return &later{delay: pausedFor, reason: t.paused().String() + " is paused"}
	}
	class := t.entry.Class
	a.forget(now)
	var ahead throughput.Milli
	for _, d := range a.deferred {
		if d.class <= class {
			ahead += d.units
		}
	}
	behind, slowest := t.pace(ahead)
	delay := min(max((wait+behind)*8/10, time.Second), throughput.MaxWait)
	for _, c := range t.charges {
		if len(c.account.deferred) < maxDeferrals {
			c.account.deferred = append(c.account.deferred, deferral{now.Add(delay), class, c.units})
		}
	}
	return &later{delay: delay, reason: "no capacity left of " + slowest.String()}
}

// pace is how long calls like this one take that cost so much of its first
// account, by the slowest of its accounts.
func (t *ticket) pace(units throughput.Milli) (longest time.Duration, slowest throughput.Resource) {
	most := -1.0
	for _, c := range t.charges {
		each := 0.0 // seconds a unit of the first account
		if rate, limited := c.account.budget.Rate(); limited && rate > 0 {
			each = float64(c.units) / float64(max(t.charges[0].units, 1)) / float64(rate)
		}
		if each > most {
			most, slowest = each, c.account.resource
		}
	}
	return time.Duration(most * float64(units) * float64(time.Second)), slowest
}

// paused is the first of the call's accounts that is.
func (t *ticket) paused() throughput.Resource {
	for _, c := range t.charges {
		if c.account.paused {
			return c.account.resource
		}
	}
	return t.charges[0].account.resource
}

// maxDeferrals bounds what is remembered; beyond it the delay is at its longest
// anyway.
const maxDeferrals = 10_000

// forget drops the deferrals that are due: they have come again, here or at
// another worker.
func (a *account) forget(now time.Time) {
	kept := a.deferred[:0]
	for _, d := range a.deferred {
		if d.due.After(now) {
			kept = append(kept, d)
		}
	}
	a.deferred = kept
}

// slowDown answers a throttle at once, by a tenth and at most once a second, down
// to a quarter; the owner of the budget hears of it before its time and decides.
func (a *account) slowDown(now time.Time, calls int) {
	a.throttled += calls
	a.figures.throttled(calls)
	if rate, limited := a.budget.Rate(); limited && now.Sub(a.cut) >= time.Second {
		a.cut = now
		a.budget.SetRate(now, max(rate*9/10, a.share/4, 1))
	}
	activities.Notify(a.kick)
}

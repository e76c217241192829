package scheduler

import (
	"math"
	"math/rand/v2"
	"time"

	"sluice/activities"
	"sluice/internal/throughput"
)

// An account is one worker's share of the budget of a resource, or of what one key
// of a table takes.
type account struct {
	resource throughput.Resource
	key      string // of a hot key's account
	arn      string // by which calls name the table, where they do
	budget   *throughput.Budget
	line     *line   // of calls that have this account first
	lines    []*line // of all calls that need it

	tenant  throughput.Tenant
	leasing bool               // its lease loop runs
	kick    chan struct{}      // something has changed that the loop should see
	ceiling throughput.Ceiling // of a hot key's account, learned here

	used time.Time // last demand
	cut  time.Time // last own step down

	sent      throughput.Demand // since the last lease
	rate      throughput.Demand // of sending, a second, smoothed
	waiting   throughput.Demand // cost of what waits here
	deferred  []deferral        // what was sent back to Temporal and will come again
	backlog   throughput.Demand // cost of that
	ahead     throughput.Demand // of it, what is due in its turn
	consumed  throughput.Milli  // since the last lease
	fastest   meter             // of it
	throttled int
	since     time.Time // of the last lease
	figures   figures
}

// accountName is what an account is kept by.
type accountName struct {
	throughput.Resource
	key string
}

// account finds or opens an account, and sees to it that it leases its share.
func (s *Scheduler) account(r throughput.Resource, now time.Time) *account {
	a := s.accounts[accountName{r, ""}]
	if a == nil {
		a = s.open(accountName{r, ""}, now)
	}
	a.used = now
	if s.owner == nil {
		a.budget.SetUnlimited(now)
		return a
	}
	if !a.leasing && s.ctx.Err() == nil {
		a.leasing, a.since = true, now
		s.loops.Go(func() { s.lease(a) })
	}
	return a
}

// open makes an account; those that nobody has used for long make room.
func (s *Scheduler) open(name accountName, now time.Time) *account {
	s.evict(now)
	a := &account{
		resource: name.Resource,
		key:      name.key,
		budget:   throughput.NewBudget(now, saved),
		line:     &line{},
		kick:     make(chan struct{}, 1),
		figures:  s.labels.figures(s.metrics, name),
		used:     now,
	}
	a.line.first = a
	s.accounts[name] = a
	return a
}

// known reports that calls have a rate to reckon with: a lease that says how much,
// or for how long there is nothing. Where the owner is asked for the first time, or
// does not know yet itself what is provisioned, there is none.
func (a *account) known() bool {
	if _, limited := a.budget.Rate(); !limited || a.hot() {
		return true
	}
	lease, ok := a.tenant.Lease()
	return ok && !lease.Unknown
}

// short reports that the owner gave less than the worker's share, as others hold the
// rest yet, and is soon asked again: how long a queue takes is not to be told by that.
// A ceiling that was learned grows by itself.
func (a *account) short() bool {
	lease, ok := a.tenant.Lease()
	again := lease.RenewAfter.Std()
	return ok && !lease.Unlimited && !a.learned() && again > 0 && again < lease.Validity()*3/4
}

func (a *account) paused() bool {
	lease, _ := a.tenant.Lease()
	return lease.Paused
}

func (a *account) learned() bool {
	lease, _ := a.tenant.Lease()
	return lease.Learned || a.hot()
}

func (a *account) ready(now time.Time) bool {
	a.follow(now)
	return !a.paused() && a.budget.Ready(now)
}

// wait is how long until the account is ready after calls that cost ahead. Nothing
// is known of that before the first lease. A worker without a share waits for its
// next lease; a ceiling that was learned from throttles doubles in every second
// without one, so that even a long queue is done in seconds.
func (a *account) wait(now time.Time, ahead throughput.Milli) time.Duration {
	a.follow(now)
	rate, limited := a.budget.Rate()
	switch {
	case a.paused():
		return throughput.MaxWait
	case !limited || !a.known():
		return 0
	case rate == 0 && a.tenant.Next().Sub(now) > soonLeased:
		return a.tenant.Next().Sub(now)
	case rate == 0:
		return 0
	}
	return a.growing(a.budget.Wait(now, ahead))
}

// readyIn is when the account's own budget lets a call go: a pause, and a share of
// nothing, last until another lease.
func (a *account) readyIn(now time.Time) time.Duration {
	a.follow(now)
	if rate, limited := a.budget.Rate(); a.paused() || (limited && rate == 0) {
		return throughput.MaxWait
	}
	return a.budget.Wait(now, 0)
}

// soonLeased is how far off a next lease is that calls wait for without a look at
// when it comes.
const soonLeased = 5 * time.Second

// growing is how long it takes at a rate that may double every second what takes so
// long at the present one.
func (a *account) growing(wait time.Duration) time.Duration {
	if !a.learned() || wait <= time.Second {
		return wait
	}
	return time.Second + time.Duration(math.Log2(wait.Seconds())*float64(time.Second))
}

// consume records what was really consumed.
func (a *account) consume(now time.Time, units throughput.Milli) {
	a.consumed += units
	a.fastest.add(now, units)
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

// slowDown answers a throttle at once, by a tenth and at most once a second, down
// to a quarter; the owner of the budget hears of it before its time and decides.
func (a *account) slowDown(now time.Time, calls int) {
	a.throttled += calls
	a.figures.throttled(calls)
	if rate, limited := a.budget.Rate(); limited && now.Sub(a.cut) >= time.Second {
		a.cut = now
		lease, _ := a.tenant.Lease()
		a.budget.SetRate(now, max(rate*9/10, lease.UnitsPerSecond/4, 1))
	}
	a.tenant.Refused(now, rand.Float64())
	activities.Notify(a.kick)
}

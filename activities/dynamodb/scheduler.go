package dynamodb

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"sluice/internal/throughput"
)

const (
	// patience is the longest wait that is the worker's own; what would take
	// longer when it arrives goes back to Temporal.
	patience = time.Second
	// overtaken ends the wait of a call that more urgent ones got ahead of.
	overtaken = 2 * time.Second
	// saved is how much of its share a worker saves up while it sends nothing: it
	// covers what timers and a busy machine are late, and no more, since the sum
	// of all workers' savings may be spent at once.
	saved = 500 * time.Millisecond
	// fewInFlight calls of a line may always be in flight.
	fewInFlight = 8
	// pausedFor is when a call is to ask again for what is paused.
	pausedFor = 30 * time.Second
)

// A BudgetOwner hands out the shares of budgets by the name of their resource.
// Either call may take as long as its context lets it.
type BudgetOwner interface {
	Lease(ctx context.Context, resource string, request throughput.LeaseRequest) (throughput.Lease, error)
	Release(ctx context.Context, resource, worker string) error
}

// A scheduler decides when the calls of one worker go out. Every table or index
// and direction has an account: its share of the fleet's budget and what was
// charged to it. Calls that need the same accounts wait in one group; groups that
// have the same first account form a line, in which priority, then first arrival
// decide, and whose calls in flight are bounded.
type scheduler struct {
	mu        sync.Mutex
	now       func() time.Time
	place     string
	worker    string
	owner     BudgetOwner // nil: no limit
	logger    log.Logger
	metrics   client.MetricsHandler
	inFlight  int // most of a line
	slots     int // most waiting in a line
	accounts  map[throughput.Resource]*account
	estimates throughput.Estimates
	seq       uint64

	ctx   context.Context //nolint:containedctx // ends the lease loops with the worker
	stop  context.CancelFunc
	loops sync.WaitGroup
}

// A line is the calls that share their first account.
type line struct {
	first    *account
	groups   []*group
	turns    throughput.Turns
	inFlight int
	waiting  int
	timer    *time.Timer
}

// A ticket is one call on its way through the scheduler.
type ticket struct {
	request throughput.Request
	line    *line
	group   *group
	charges []accountCharge
	entry   throughput.Entry[*ticket]
	granted chan struct{}
}

type accountCharge struct {
	account *account
	units   throughput.Milli
}

// later is why a call can't wait here, and when it is worth asking again.
type later struct {
	delay  time.Duration
	reason string
}

func (l *later) Error() string {
	return fmt.Sprintf("%s; again in %v", l.reason, l.delay.Round(time.Millisecond))
}

// acquire waits until the call may go out, and charges what it is expected to
// cost; settle must follow. It returns *later when the wait is Temporal's to do,
// or the context's error. arrived is when the call was first made, which keeps its
// place through all repeats.
func (s *scheduler) acquire(ctx context.Context, r throughput.Request, class int, arrived time.Time) (*ticket, error) {
	t, err := s.enqueue(r, class, arrived)
	if err != nil {
		return nil, err
	}
	select {
	case <-t.granted: // nothing was ahead
		return t, nil
	default:
	}
	timer := time.NewTimer(overtaken)
	defer timer.Stop()
	select {
	case <-t.granted:
		return t, nil
	case <-timer.C:
		if l := s.giveUp(t); l != nil {
			return nil, l
		}
		return t, nil
	case <-ctx.Done():
		if !s.leave(t) {
			s.settle(t, outcome{unsent: true})
		}
		return nil, context.Cause(ctx)
	}
}

// enqueue puts the call in its place, or tells that the wait is too long.
func (s *scheduler) enqueue(r throughput.Request, class int, arrived time.Time) (*ticket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	t := &ticket{request: r, charges: s.expected(r, now), granted: make(chan struct{})}
	first := t.charges[0].account
	t.line = first.line
	t.group = t.line.groupFor(t.charges)
	s.seq++
	t.entry = throughput.Entry[*ticket]{Value: t, Class: class, Arrived: arrived, Seq: s.seq, Cost: t.charges[0].units}

	wait, paused := t.wait(now)
	longest := patience
	if t.line.count(class) < 2 {
		longest = overtaken // so that a lower class is there when its tenth is due
	}
	if wait > longest || t.line.waiting >= s.slots {
		return nil, first.deferCall(now, t, wait, paused)
	}
	t.group.queue.Push(&t.entry)
	t.line.waiting++
	for _, c := range t.charges {
		c.account.waiting[class] += c.units
	}
	s.dispatch(t.line, now)
	return t, nil
}

// expected is what the request is thought to cost, its table first; the accounts
// begin to lease their shares where they have none.
func (s *scheduler) expected(r throughput.Request, now time.Time) []accountCharge {
	if r.Control {
		control := throughput.ControlPlane(s.place, r.Direction)
		return []accountCharge{{s.account(control, now), throughput.Unit}}
	}
	estimated := s.estimates.Charges(r)
	charges := make([]accountCharge, 0, len(estimated))
	for _, c := range estimated {
		charges = append(charges, accountCharge{s.account(s.resource(c, r), now), c.Units})
		if last := len(charges) - 1; c.Index == "" && charges[0].account.resource.Index != "" {
			charges[0], charges[last] = charges[last], charges[0]
		}
	}
	return charges
}

func (s *scheduler) resource(c throughput.Charge, r throughput.Request) throughput.Resource {
	return throughput.Resource{Place: s.place, Table: c.Table, Index: c.Index, Direction: r.Direction}
}

// wait estimates how long the call would wait in its line.
func (t *ticket) wait(now time.Time) (wait time.Duration, paused bool) {
	var waiting [throughput.Priorities]throughput.Milli
	for _, g := range t.line.groups {
		for class, cost := range g.queue.Ahead(t.entry.Class, t.entry.Arrived) {
			waiting[class] += cost
		}
	}
	before := throughput.Before(waiting, t.entry.Class, t.entry.Cost)
	for _, c := range t.charges {
		wait = max(wait, c.account.wait(now, before))
		paused = paused || c.account.paused
	}
	return wait, paused
}

// giveUp takes a waiting call out and tells when to ask again; nil when it was
// granted in the meantime.
func (s *scheduler) giveUp(t *ticket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.group.queue.Remove(&t.entry) {
		return nil
	}
	s.left(t)
	now := s.now()
	wait, paused := t.wait(now)
	return t.charges[0].account.deferCall(now, t, wait, paused)
}

// leave takes a waiting call out that will not come again; it reports false when
// it was granted in the meantime.
func (s *scheduler) leave(t *ticket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.group.queue.Remove(&t.entry) {
		return false
	}
	s.left(t)
	return true
}

// left accounts for a call that waits no longer.
func (s *scheduler) left(t *ticket) {
	t.line.waiting--
	for _, c := range t.charges {
		c.account.waiting[t.entry.Class] -= c.units
	}
}

// dispatch sends out what may go and sets the line's timer for the next.
func (s *scheduler) dispatch(l *line, now time.Time) {
	for l.waiting > 0 && l.inFlight < s.most(l) {
		t := l.next(now)
		if t == nil {
			break
		}
		t.group.queue.Remove(&t.entry)
		s.left(t)
		for _, c := range t.charges {
			c.account.budget.Charge(now, c.units)
			c.account.sent[t.entry.Class] += c.units
			c.account.used = now
		}
		l.inFlight++
		close(t.granted)
	}
	s.arm(l, now)
}

// most is how many calls of a line may be in flight: as many as its share sends in
// half a second, so that a service which stalls does not get all that it missed at
// once and throttle it.
func (s *scheduler) most(l *line) int {
	rate, limited := l.first.budget.Rate()
	if !limited {
		return s.inFlight
	}
	return min(s.inFlight, max(int(rate/throughput.Unit)/2, fewInFlight))
}

// next is the call whose turn it is among those whose accounts are all ready.
func (l *line) next(now time.Time) *ticket {
	var heads [throughput.Priorities]*throughput.Entry[*ticket]
	var costs [throughput.Priorities]throughput.Milli
	for _, g := range l.groups {
		if g.queue.Len() == 0 || !g.ready(now) {
			continue
		}
		for class := range heads {
			if head := g.queue.Head(class); head != nil && (heads[class] == nil || head.Before(heads[class])) {
				heads[class], costs[class] = head, max(head.Cost, 1)
			}
		}
	}
	class := l.turns.Next(costs)
	if class < 0 {
		return nil
	}
	l.turns.Served(class, costs[class], costs)
	return heads[class].Value
}

// count is the number of calls of a class that wait.
func (l *line) count(class int) (n int) {
	for _, g := range l.groups {
		n += g.queue.Count(class)
	}
	return n
}

// arm sets the timer for when the first waiting group has all its accounts ready.
// A line that waits for a lease, or for an answer, is woken by that.
func (s *scheduler) arm(l *line, now time.Time) {
	if l.timer != nil {
		l.timer.Stop()
		l.timer = nil
	}
	if l.waiting == 0 || l.inFlight >= s.most(l) {
		return
	}
	soonest := throughput.MaxWait
	for _, g := range l.groups {
		if g.queue.Len() == 0 {
			continue
		}
		wait := time.Duration(0)
		for _, a := range g.accounts {
			if rate, limited := a.budget.Rate(); !a.known || (limited && rate == 0) {
				wait = throughput.MaxWait // until the next lease
			}
			wait = max(wait, a.wait(now, 0))
		}
		soonest = min(soonest, wait)
	}
	if soonest < throughput.MaxWait {
		l.timer = time.AfterFunc(max(soonest, 100*time.Microsecond), func() { s.wake(l) })
	}
}

func (s *scheduler) wake(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(l, s.now())
}

package scheduler

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

// A Scheduler decides when the calls of one worker go out. Every table or index
// and direction has an account: its share of the fleet's budget and what was
// charged to it. Calls that need the same accounts wait in one group; groups that
// have the same first account form a line, in which priority, then first arrival
// decide, and whose calls in flight are bounded.
type Scheduler struct {
	mu        sync.Mutex
	now       func() time.Time
	place     string
	worker    string
	taskQueue string        // where this worker runs activities
	steady    time.Duration // how long leases of a share that stays alike may be
	owner     Owner         // nil: no limit
	logger    log.Logger
	metrics   client.MetricsHandler
	inFlight  int // most of a line
	slots     int // most waiting in a line
	accounts  map[accountName]*account
	hot       map[throughput.Resource]int // accounts of its keys
	partition func(table, index string) (attribute string)
	labels    labels
	evicted   time.Time // when idle accounts last made room
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

// A Ticket is one call on its way through the scheduler.
type Ticket struct {
	request throughput.Request
	line    *line
	group   *group
	charges []accountCharge
	entry   throughput.Entry[*Ticket]
	granted chan struct{}
	back    chan error // why it is sent back before it gives up by itself
}

type accountCharge struct {
	account *account
	units   throughput.Milli
}

// Later is why a call can't wait here, and when it is worth asking again.
type Later struct {
	Delay  time.Duration
	Reason string
}

func (l *Later) Error() string {
	return fmt.Sprintf("%s; again in %v", l.Reason, l.Delay.Round(time.Millisecond))
}

// Acquire waits until the call may go out, and charges what it is expected to
// cost; Settle must follow. It returns *Later when the wait is Temporal's to do,
// or the context's error. arrived is when the call was first made, which keeps its
// place through all repeats.
func (s *Scheduler) Acquire(ctx context.Context, r throughput.Request, class int, arrived time.Time) (*Ticket, error) {
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
	case err := <-t.back:
		return nil, err
	case <-ctx.Done():
		if !s.leave(t) {
			s.Settle(t, Outcome{Unsent: true})
		}
		return nil, context.Cause(ctx)
	}
}

// enqueue puts the call in its place, or tells that the wait is too long.
func (s *Scheduler) enqueue(r throughput.Request, class int, arrived time.Time) (*Ticket, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	t := &Ticket{request: r, charges: s.expected(r, now), granted: make(chan struct{}), back: make(chan error, 1)}
	first := t.charges[0].account
	t.line = first.line
	t.group = t.line.groupFor(t.charges)
	s.seq++
	t.entry = throughput.Entry[*Ticket]{Value: t, Class: class, Arrived: arrived, Seq: s.seq, Cost: t.charges[0].units}

	wait, paused := t.wait(now)
	longest := patience
	if t.line.count(class) < 2 {
		longest = overtaken // so that a lower class is there when its tenth is due
	}
	if wait > longest || t.line.waiting >= s.slots || t.group.crowded(s.slots) {
		return nil, t.deferCall(now, wait, paused)
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
func (s *Scheduler) expected(r throughput.Request, now time.Time) []accountCharge {
	if r.Control {
		control := throughput.ControlPlane(s.place, r.Direction)
		return []accountCharge{{s.account(control, now), throughput.Unit}}
	}
	estimated := s.estimates.Charges(r)
	charges := make([]accountCharge, 0, len(estimated))
	for _, c := range estimated {
		a := s.account(s.resource(c, r), now)
		if arn := r.ARN(c.Table); arn != "" {
			a.arn = arn
		}
		charges = append(charges, accountCharge{a, c.Units})
		if last := len(charges) - 1; c.Index == "" && charges[0].account.resource.Index != "" {
			charges[0], charges[last] = charges[last], charges[0]
		}
	}
	return s.withHotKeys(charges, r, now)
}

func (s *Scheduler) resource(c throughput.Charge, r throughput.Request) throughput.Resource {
	return throughput.Resource{Place: s.place, Table: c.Table, Index: c.Index, Direction: r.Direction}
}

// wait estimates how long the call would wait in its line; for a hot key behind those
// for that key alone.
func (t *Ticket) wait(now time.Time) (wait time.Duration, paused bool) {
	var waiting, own [throughput.Priorities]throughput.Milli
	for _, g := range t.line.groups {
		if g.hot() && g != t.group {
			continue // they wait for their key, and nobody for them
		}
		for class, cost := range g.queue.Ahead(t.entry.Class, t.entry.Arrived) {
			waiting[class] += cost
			if g == t.group {
				own[class] += cost
			}
		}
	}
	for _, c := range t.charges {
		ahead := waiting
		if c.account.hot() {
			ahead = own
		}
		wait = max(wait, c.account.wait(now, throughput.Before(ahead, t.entry.Class, t.entry.Cost)))
		paused = paused || c.account.paused()
	}
	return wait, paused
}

// giveUp takes a waiting call out and tells when to ask again; nil when it was
// granted in the meantime.
func (s *Scheduler) giveUp(t *Ticket) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.group.queue.Remove(&t.entry) {
		if len(t.back) > 0 {
			return <-t.back
		}
		return nil
	}
	s.left(t)
	now := s.now()
	wait, paused := t.wait(now)
	return t.deferCall(now, wait, paused)
}

// leave takes a waiting call out that will not come again; it reports false when
// it was granted in the meantime, and true as well when it was sent back.
func (s *Scheduler) leave(t *Ticket) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !t.group.queue.Remove(&t.entry) {
		return len(t.back) > 0
	}
	s.left(t)
	return true
}

// left accounts for a call that waits no longer.
func (s *Scheduler) left(t *Ticket) {
	t.line.waiting--
	for _, c := range t.charges {
		c.account.waiting[t.entry.Class] -= c.units
	}
}

// dispatch sends out what may go and sets the line's timer for the next.
func (s *Scheduler) dispatch(l *line, now time.Time) {
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
func (s *Scheduler) most(l *line) int {
	rate, limited := l.first.budget.Rate()
	if !limited {
		return s.inFlight
	}
	return min(s.inFlight, max(int(rate/throughput.Unit)/2, fewInFlight))
}

// next is the call whose turn it is among those whose accounts are all ready.
func (l *line) next(now time.Time) *Ticket {
	var heads [throughput.Priorities]*throughput.Entry[*Ticket]
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
func (s *Scheduler) arm(l *line, now time.Time) {
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
			wait = max(wait, a.readyIn(now))
		}
		soonest = min(soonest, wait)
	}
	if soonest < throughput.MaxWait {
		l.timer = time.AfterFunc(max(soonest, 100*time.Microsecond), func() { s.wake(l) })
	}
}

func (s *Scheduler) wake(l *line) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dispatch(l, s.now())
}

package claiming

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/activities/taskservice"
	"sluice/internal/backoff"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// Claimer is the polling activity of ClaimTasks.
type Claimer struct {
	Temporal client.Client
	Queues   *azqueue.ServiceClient // nil: no credentials; then only signed URLs can be polled
	Service  *taskservice.Client
	// Calm is when and how rarely a claimer heartbeats to which nothing happens; its
	// spacing is half of the usual one by default.
	Calm activities.Calm
	// Converter is the Temporal client's; nil is the default one.
	Converter converter.DataConverter

	gauges gaugeTurns
}

// All lists the activities under their names.
func (c *Claimer) All() []activities.Named {
	return []activities.Named{activities.On(wire.ClaimPoll, c.Poll)}
}

// Timing of the polling activity.
const (
	controlEvery = 2 * time.Second        // how soon an idle claimer learns of drain, stop, capacity
	tellSoon     = 200 * time.Millisecond // between looks whether to report what was started
	fullWait     = 50 * time.Millisecond  // first wait for a task to finish
	fullWaitMax  = time.Second
	gather       = 200 * time.Millisecond // small numbers of free slots are gathered this long
	shift        = 12 * time.Hour         // an activity that has nothing to tell ends after this
	failureCap   = 30 * time.Second       // longest back-off of a failing queue or service
	refusedRest  = 5 * time.Minute        // until a claimer whose settings are refused tries once more
	beatTimeout  = 5 * time.Second
)

// poller is one attempt of the polling activity. The main loop is Poll's own
// goroutine; what others touch is guarded by mu.
type poller struct {
	*Claimer
	in     wire.PollInput
	info   activity.Info
	log    log.Logger
	meter  client.MetricsHandler
	pace   taskclaim.Pace
	cancel context.CancelCauseFunc

	recall  context.CancelFunc // has the main loop end, when it has finished what it is at
	control *control
	prompt  chan struct{} // of capacity one: heartbeat now

	beatMu sync.Mutex // one heartbeat at a time, so that a newer one is never overwritten

	books   *ledger
	inbox   *inbox
	azure   *azure
	starter *starter

	empty     int           // sweeps in a row that found nothing
	nextSweep time.Time     // not before
	failures  int           // batches in a row in which the service or Temporal failed
	refused   bool          // Temporal refused what the claimer was set to, at the last sweep
	full      time.Duration // last wait for a slot
	freeSince time.Time     // some slots are free since
	watching  watchState
}

// Poll claims tasks until it has something to tell its workflow, which runs it
// again at once. It polls the queues in order, claims, starts Tasks, deletes
// what was dealt with, moves poison aside, and watches that no running Task is
// lost. What it is about to do is in its heartbeat before it is done, so that a
// repeat, on whatever worker, goes on with the same tasks and none is started
// beyond the capacity. It outlives every error of queues and services. One that is
// cancelled finishes what it is at and ends with its wire.PollMemory as the detail.
func (c *Claimer) Poll(ctx context.Context, in wire.PollInput) (wire.PollReport, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	p := c.newPoller(ctx, in, cancel)
	resting, recall := context.WithCancel(ctx)
	defer recall()
	p.recall = recall
	if err := p.restore(ctx); err != nil {
		return wire.PollReport{}, err
	}
	stop := p.startKeepers(ctx)
	defer stop()
	defer p.takeTurn()()
	for {
		if err := p.interrupted(ctx); err != nil {
			return wire.PollReport{}, err
		}
		if resting.Err() != nil && ctx.Err() == nil {
			p.inbox.settle(ctx)
			m := p.memory()
			activities.HearOfCancel(ctx, m)
			return wire.PollReport{}, temporal.NewCanceledError(m)
		}
		wait := controlEvery
		if control, err := p.allowed(ctx); err != nil {
			p.log.Warn("claimer cannot ask its workflow", "error", err)
		} else {
			p.books.confirm(control.Early...) // who told an end had started
			if spacing, due := p.books.due(control, time.Now()); due {
				p.inbox.settle(ctx)
				stop() // the history is followed no more: its place is known
				return p.reportOf(spacing), nil
			}
			p.watch(ctx, control)
			wait = min(p.step(ctx, control), p.untilTold())
		}
		p.rest(resting, wait)
	}
}

func (c *Claimer) newPoller(ctx context.Context, in wire.PollInput, cancel context.CancelCauseFunc) *poller {
	p := &poller{
		Claimer: c, in: in, info: activity.GetInfo(ctx), log: activity.GetLogger(ctx),
		meter: activity.GetMetricsHandler(ctx), cancel: cancel, azure: newAzure(c, in),
		pace:    taskclaim.Pace{Interval: in.Spec.Interval.Std(), Max: in.Spec.MaxInterval.Std()},
		control: newControl(activities.OwnHistory(ctx, c.Temporal).From(in.Carry.Place)),
		prompt:  make(chan struct{}, 1),
	}
	beats := spacings{least: activities.WaitingHeartbeat, inForce: p.spacing(), after: p.calm().Beats}
	p.books = newLedger(in, beats, p.calm().Threshold(), time.Now())
	p.inbox = newInbox(in, p.azure, p.log, p.books, p.count)
	p.inbox.trouble = activities.TellTrouble(ctx, in.Carry.Trouble).Tell
	p.starter = &starter{
		spec: in.Spec, claimer: in.Claimer, taskQueue: in.TaskQueue, temporal: c.Temporal, service: c.Service,
		payloads: c.Converter, books: p.books, inbox: p.inbox, log: p.log, meter: p.meter,
		beat: p.beat, allowed: p.allowed, ask: p.ask,
	}
	p.azure.malformed = func(ctx context.Context, h *held) {
		p.starter.report(ctx, &candidate{held: h, runID: h.message.RunID}, wire.ReasonMalformedPayload)
	}
	return p
}

// step does what is due now and returns how long to wait before the next look.
func (p *poller) step(ctx context.Context, control wire.ClaimControl) time.Duration {
	now := time.Now()
	if control.State != wire.ClaimOpen {
		return controlEvery / 4
	}
	if wait := p.nextSweep.Sub(now); wait > 0 {
		return min(wait, controlEvery)
	}
	free := p.books.slots(control).Free()
	if free == 0 {
		p.freeSince = time.Time{}
		p.full = min(max(fullWait, p.full+p.full/2), fullWaitMax)
		return p.full
	}
	p.full = 0
	if p.gathering(now, free, control.Capacity) {
		return fullWait
	}
	if p.refused {
		free = 1 // one message shows whether it is still so
	}
	result := p.sweep(ctx, free)
	p.freeSince = time.Time{}
	return p.pause(result)
}

// gathering tells to wait a moment for more free slots, since a poll costs the
// same for one message as for many. It never waits where nothing runs.
func (p *poller) gathering(now time.Time, free, capacity int) bool {
	if free >= min(8, max(1, capacity/4)) {
		return false
	}
	if p.freeSince.IsZero() {
		p.freeSince = now
	}
	return now.Sub(p.freeSince) < gather
}

// pause sets when to sweep again.
func (p *poller) pause(s sweepResult) time.Duration {
	var wait time.Duration
	if s.found > 0 {
		p.empty = 0
		p.books.stirred(time.Now())
	} else {
		p.empty++
		wait = p.pace.Wait(p.empty, rand.Float64())
	}
	if s.undecided > 0 && s.decided == 0 {
		p.failures++
		wait = max(wait, retryDelay(p.failures))
	} else if s.decided > 0 {
		p.failures = 0
	}
	if s.refused {
		wait = refusedRest
	}
	p.refused = s.refused
	p.inbox.noteStuck(s.refused, p.failures)
	p.nextSweep = time.Now().Add(wait)
	return min(wait, controlEvery)
}

// retryDelay is the back-off after n failures in a row: up to 30 s, at least a
// quarter of its ceiling, so that a service in trouble does get its rest.
func retryDelay(n int) time.Duration {
	policy := backoff.Policy{Base: time.Second, Cap: failureCap}
	return policy.Ceiling(n)/4 + policy.Delay(n, rand.Float64())*3/4
}

// rest is sleep that ends when a message comes.
func (p *poller) rest(ctx context.Context, d time.Duration) { sleepUnless(ctx, d, p.control.woken) }

// sleepUnless waits until the time is over, the context ends or somebody wakes it;
// nobody does by a nil channel.
func sleepUnless(ctx context.Context, d time.Duration, woken <-chan struct{}) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-woken:
	case <-ctx.Done():
	}
}

// errFenced ends an attempt that Temporal has given up: another one goes on, so
// nothing more may be started here.
var errFenced = errors.New("another attempt has taken over")

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
	"sluice/activities/azurequeue"
	"sluice/activities/taskservice"
	"sluice/internal/backoff"
	"sluice/internal/errortype"
	"sluice/internal/taskclaim"
	"sluice/internal/taskmessage"
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
	limits taskmessage.Limits
	pace   taskclaim.Pace
	signed *azurequeue.SignedSource
	cancel context.CancelCauseFunc
	began  time.Time

	recall  context.CancelFunc // has the main loop end, when it has finished what it is at
	control *control
	trouble *activities.TroubleTeller
	prompt  chan struct{} // of capacity one: heartbeat now

	beatMu sync.Mutex // one heartbeat at a time, so that a newer one is never overwritten

	mu      sync.Mutex
	tasks   []wire.OpenTask // started or about to be, not reported yet
	news    pollNews
	stuck   errortype.Trouble // why no task can be started
	active  time.Time         // something happened last
	credit  taskclaim.Credit
	excused idMemory
	copied  idMemory
	held    map[*held]bool
	queues  map[string]*queueView

	empty     int           // sweeps in a row that found nothing
	nextSweep time.Time     // not before
	failures  int           // batches in a row in which the service or Temporal failed
	refused   bool          // Temporal refused what the claimer was set to, at the last sweep
	full      time.Duration // last wait for a slot
	freeSince time.Time     // some slots are free since
	watching  watchState
	removals  sync.WaitGroup
}

// pollNews is what has happened since the activity began, for its report.
type pollNews struct {
	lost              []wire.LostTask
	poisoned, excused int64
	other             bool
	since             time.Time // of the oldest
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
			p.settle(ctx)
			m := p.memory()
			activities.HearOfCancel(ctx, m)
			return wire.PollReport{}, temporal.NewCanceledError(m)
		}
		wait := controlEvery
		if control, err := p.allowed(ctx); err != nil {
			p.log.Warn("claimer cannot ask its workflow", "error", err)
		} else {
			p.believe(control.Early)
			if spacing, due := p.due(control); due {
				p.settle(ctx)
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
	spec := in.Spec
	p := &poller{
		Claimer: c, in: in, info: activity.GetInfo(ctx), log: activity.GetLogger(ctx),
		meter: activity.GetMetricsHandler(ctx), cancel: cancel, began: time.Now(),
		limits:  taskmessage.Limits{Warn: spec.WarnDequeueCount, Poison: spec.MaxDequeueCount},
		pace:    taskclaim.Pace{Interval: spec.Interval.Std(), Max: spec.MaxInterval.Std()},
		credit:  in.Carry.Credit,
		excused: rememberAll(in.Carry.Excused),
		copied:  rememberAll(in.Carry.Copied),
		held:    map[*held]bool{},
		queues:  map[string]*queueView{},
		control: newControl(activities.OwnHistory(ctx, c.Temporal).From(in.Carry.Place)),
		prompt:  make(chan struct{}, 1),
	}
	p.active = p.began
	if spacing := in.Carry.Spacing.Std(); spacing > activities.WaitingHeartbeat {
		p.active = p.began.Add(-p.calm().Threshold())
	}
	if spec.SignedURLs != nil {
		p.signed = &azurequeue.SignedSource{Service: c.Service, Spec: *spec.SignedURLs}
	}
	for _, q := range in.Queues {
		p.queues[q.Name] = &queueView{state: q}
	}
	p.trouble = activities.TellTrouble(ctx, in.Carry.Trouble)
	if len(in.Queues) == 0 {
		p.news.other = true // the first report tells the state of the queues
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
	free := p.slots(control).Free()
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
		p.mu.Lock()
		p.stirred()
		p.mu.Unlock()
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
	p.noteStuck(s.refused, p.failures)
	p.nextSweep = time.Now().Add(wait)
	return min(wait, controlEvery)
}

// noteStuck takes down whether tasks can be started at all.
func (p *poller) noteStuck(refused bool, failures int) {
	var stuck errortype.Trouble
	switch {
	case refused:
		stuck = errortype.Trouble{Type: errortype.InvalidInput, Error: "Temporal refuses what the claimer was set to"}
	case failures > 1:
		stuck = errortype.Trouble{Type: errortype.Unavailable, Error: "nobody decides about tasks: the service or Temporal fails"}
	}
	p.mu.Lock()
	changed := stuck != p.stuck
	p.stuck = stuck
	p.mu.Unlock()
	if changed {
		p.tellTrouble()
	}
}

// retryDelay is the back-off after n failures in a row: up to 30 s, at least a
// quarter of its ceiling, so that a service in trouble does get its rest.
func retryDelay(n int) time.Duration {
	policy := backoff.Policy{Base: time.Second, Cap: failureCap}
	return policy.Ceiling(n)/4 + policy.Delay(n, rand.Float64())*3/4
}

// sleep waits, but not past the end of the context or the worker's stop.
func (p *poller) sleep(ctx context.Context, d time.Duration) { sleepUnless(ctx, d, nil) }

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

package claiming

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
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
	"sluice/internal/taskclaim"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// Claimer is the polling activity of ClaimTasks.
type Claimer struct {
	Temporal client.Client
	Queues   *azqueue.ServiceClient // nil: no credentials; then only signed URLs can be polled
	Service  *taskservice.Client
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

	recall context.CancelFunc // has the main loop end, when it has finished what it is at

	beatMu sync.Mutex // one heartbeat at a time, so that a newer one is never overwritten

	mu      sync.Mutex
	tasks   []wire.OpenTask // started or about to be, not reported yet
	news    pollNews
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
		if control, err := p.ask(ctx, false); err != nil {
			p.log.Warn("claimer cannot ask its workflow", "error", err)
		} else {
			p.believe(control.Early)
			if p.due(control) {
				p.settle(ctx)
				return p.memory().Report(), nil
			}
			p.watch(ctx, control)
			wait = min(p.step(ctx, control), p.untilTold())
		}
		p.sleep(resting, wait)
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
	}
	if spec.SignedURLs != nil {
		p.signed = &azurequeue.SignedSource{Service: c.Service, Spec: *spec.SignedURLs}
	}
	for _, q := range in.Queues {
		p.queues[q.Name] = &queueView{state: q}
	}
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
	p.nextSweep = time.Now().Add(wait)
	return min(wait, controlEvery)
}

// retryDelay is the back-off after n failures in a row: up to 30 s, at least a
// quarter of its ceiling, so that a service in trouble does get its rest.
func retryDelay(n int) time.Duration {
	policy := backoff.Policy{Base: time.Second, Cap: failureCap}
	return policy.Ceiling(n)/4 + policy.Delay(n, rand.Float64())*3/4
}

// slots counts by what the workflow knows and what it has not been told yet.
func (p *poller) slots(control wire.ClaimControl) taskclaim.Slots {
	p.mu.Lock()
	defer p.mu.Unlock()
	return taskclaim.Slots{
		Capacity: control.Capacity,
		Running:  control.Running + p.unfinished(control.Early),
		MaxTasks: control.MaxTasks,
		Claimed:  control.Claimed + int64(len(p.tasks)),
	}
}

// unfinished counts the unreported tasks that have not finished; p.mu is held.
func (p *poller) unfinished(early []string) int {
	ended := make(map[string]bool, len(early))
	for _, id := range early {
		ended[id] = true
	}
	n := 0
	for _, t := range p.tasks {
		if !ended[t.ID()] {
			n++
		}
	}
	return n
}

// ask queries the claimer's workflow.
func (p *poller) ask(ctx context.Context, tasks bool) (control wire.ClaimControl, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	run := p.info.WorkflowExecution
	value, err := p.Temporal.QueryWorkflow(ctx, run.ID, run.RunID, wire.QueryClaimControl, wire.ClaimControlQuery{Tasks: tasks})
	if err != nil {
		return control, err
	}
	err = value.Get(&control)
	return control, err
}

// believe takes a task's word that it ended as proof that it had started.
func (p *poller) believe(early []string) {
	for _, id := range early {
		p.makeSure(id)
	}
}

// due tells whether to end the activity and report.
func (p *poller) due(control wire.ClaimControl) bool {
	slots := p.slots(control)
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	over := (control.State != wire.ClaimOpen || slots.Exhausted()) && slots.Running == 0
	if over || control.Rollover || now.Sub(p.began) > shift {
		return true
	}
	if len(p.tasks) > 0 && p.news.since.IsZero() {
		p.news.since = p.tasks[0].Since
	}
	since := p.news.since
	if since.IsZero() {
		since = p.began
	}
	p.credit = p.credit.Earn(now)
	news := taskclaim.News{
		Started: slices.ContainsFunc(p.tasks, func(t wire.OpenTask) bool { return t.Sure }),
		Other:   p.news.other, Urgent: len(p.news.lost) > 0, Age: now.Sub(since), Quiet: now.Sub(p.began),
	}
	return news.Due(p.credit)
}

// untilTold is how long the loop may wait before it looks again whether to report.
func (p *poller) untilTold() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tasks) > 0 || len(p.news.lost) > 0 {
		return tellSoon
	}
	return controlEvery
}

// sleep waits, but not past the end of the context or the worker's stop.
func (p *poller) sleep(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// errFenced ends an attempt that Temporal has given up: another one goes on, so
// nothing more may be started here.
var errFenced = errors.New("another attempt has taken over")

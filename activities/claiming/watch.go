package claiming

import (
	"context"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"

	"sluice/activities"
	"sluice/internal/wire"
)

// How often the polling activity looks after what runs.
const (
	reconcileEvery = 10 * time.Second
	reconcileAge   = 20 * time.Second // a task is looked at when it has not been for so long
	unsureAge      = 15 * time.Second // a start that is not to be found by now did not happen
	measureEvery   = 15 * time.Second
)

// watchState belongs to the main loop, except where one of its rounds runs: only
// one round of each kind does at a time.
type watchState struct {
	reconciled time.Time
	measured   time.Time
	round      chan struct{} // closed when the round under way is over
	measuring  chan struct{}
	seen       map[string]time.Time // when a task was last seen running
	suspects   map[string]string    // closed without our having heard of it, with its status
	told       map[string]bool      // told to stop
}

func over(round chan struct{}) bool {
	if round == nil {
		return true
	}
	select {
	case <-round:
		return true
	default:
		return false
	}
}

// watch starts what is due of the rounds beside the loop: tasks that ended
// unheard, tasks to be told to stop, the queues' lengths.
func (p *poller) watch(ctx context.Context, control wire.ClaimControl) {
	w := &p.watching
	now := time.Now()
	if over(w.round) && p.books.slots(control).Running > 0 {
		every := reconcileEvery
		if control.State == wire.ClaimStopped || len(w.suspects) > 0 {
			every = controlEvery
		}
		if now.Sub(w.reconciled) >= every {
			w.reconciled = now
			w.round = p.inbox.aside(func() { p.reconcile(ctx, now) })
		}
	}
	if p.azure.signed == nil && over(w.measuring) && now.Sub(w.measured) >= measureEvery {
		w.measured = now
		w.measuring = p.inbox.aside(func() { p.measureQueues(ctx) })
	}
	p.claimerGauges(float64(p.books.slots(control).Running), float64(control.Capacity))
}

// reconcile looks at the tasks that run by our books. One that has closed is a
// suspect, since its signal may be on its way; if the books still have it at the
// next look it is lost. With a claimer that was stopped each is told so.
func (p *poller) reconcile(ctx context.Context, now time.Time) {
	control, err := p.ask(ctx, true)
	if err != nil {
		return
	}
	p.books.dropCounted(control)
	w := &p.watching
	running := p.books.running(control)
	seen, suspects := map[string]time.Time{}, map[string]string{}
	var due []wire.OpenTask
	for _, t := range running {
		id := t.ID()
		at, known := w.seen[id]
		if !known {
			at = t.StartedAt
		}
		seen[id] = at
		status, suspect := w.suspects[id]
		switch {
		case suspect:
			p.endWork(ctx, t)
			p.lose(t, status)
		case !t.Sure, now.Sub(at) >= reconcileAge, control.State == wire.ClaimStopped && !w.told[id]:
			due = append(due, t)
		}
	}
	w.seen, w.suspects = seen, suspects
	for len(due) > 0 && ctx.Err() == nil {
		n := min(len(due), 16)
		p.lookAt(ctx, control, due[:n], now)
		due = due[n:]
	}
}

// lookAt asks Temporal about some tasks.
func (p *poller) lookAt(ctx context.Context, control wire.ClaimControl, tasks []wire.OpenTask, now time.Time) {
	type finding struct {
		task   wire.OpenTask
		status string
		told   bool
		err    error
	}
	findings := make([]finding, len(tasks))
	indexes := make([]int, len(tasks))
	for i := range tasks {
		indexes[i] = i
	}
	inParallel(indexes, func(i int) {
		f := finding{task: tasks[i]}
		described, err := p.starter.describe(ctx, f.task.ID())
		f.err = err
		if err == nil {
			f.status = statusName(described.RawResponse.GetWorkflowExecutionInfo().GetStatus())
			if f.status == "" && control.State == wire.ClaimStopped {
				f.told = p.Temporal.SignalWorkflow(ctx, f.task.ID(), "", wire.SignalStop, map[string]string{"reason": "the claimer was stopped"}) == nil
			}
		}
		findings[i] = f
	})
	w := &p.watching
	for _, f := range findings {
		id := f.task.ID()
		switch {
		case activities.IsNotFound(f.err) && !f.task.Sure:
			if now.Sub(f.task.Since) > unsureAge {
				p.books.forget(id)
			}
		case activities.IsNotFound(f.err):
			w.suspects[id] = activities.TypeNotFound
		case f.err != nil:
		case f.status != "":
			p.books.confirm(id)
			w.suspects[id] = f.status
		default:
			p.books.confirm(id)
			w.seen[id] = now
			if f.told {
				if w.told == nil {
					w.told = map[string]bool{}
				}
				w.told[id] = true
			}
		}
	}
}

// statusName is the status of a closed workflow, "" for one that runs.
func statusName(s enumspb.WorkflowExecutionStatus) string {
	if s == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return ""
	}
	return strings.TrimPrefix(s.String(), "WORKFLOW_EXECUTION_STATUS_")
}

// endWork terminates what a lost task left running: under a claim the work outlives
// the runs of its task, and nobody renews that claim any more.
func (p *poller) endWork(ctx context.Context, t wire.OpenTask) {
	if !p.in.Spec.Claim.Used() {
		return
	}
	if err := terminateWork(ctx, p.Temporal, wire.TaskRunID(t.ID())); err != nil {
		p.log.Warn("the work of a lost task could not be terminated", "task", t.ID(), "error", err)
	}
}

// lose notes a task that ended without telling, once.
func (p *poller) lose(t wire.OpenTask, status string) {
	if p.books.lose(t, status, time.Now()) {
		p.log.Warn("a task ended without telling its claimer", "task", t.ID(), "status", status)
	}
}

// measureQueues looks at the queues' lengths.
func (p *poller) measureQueues(ctx context.Context) {
	for _, ref := range p.in.Spec.Queues {
		if p.Claimer.Queues == nil || ctx.Err() != nil {
			return
		}
		visible, invisible, approximate, age, err := p.azure.length(ctx, ref.Name)
		if err != nil {
			continue // polling tells of the queue's errors
		}
		p.inbox.measured(ref.Name, visible, invisible, approximate)
		p.queueGauges(ref.Name, float64(visible), float64(approximate), age)
	}
}

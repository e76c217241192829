package task

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// keepClaim renews the claim at the task service until its context ends. When
// the service decides otherwise, or does not answer until the claim is nearly
// over, the work is told to stop.
func (t *task) keepClaim(ctx workflow.Context) {
	for t.why == "" {
		due := t.lease.ReclaimAt(t.in.Claim.ReclaimBefore.Std(), taskclaim.Spread(t.in.TaskID, t.in.RunID, t.reclaims))
		if wait := due.Sub(workflow.Now(ctx)); wait > 0 {
			options := workflow.TimerOptions{Summary: "until the claim is renewed"}
			if err := workflow.NewTimerWithOptions(ctx, wait, options).Get(ctx, nil); err != nil {
				return // the work has ended
			}
		}
		t.reclaiming = true
		next, err := t.reclaim(ctx)
		t.reclaiming = false
		switch {
		case err == nil:
			t.lease = t.lease.Renew(next)
			t.reclaims++
		case temporal.IsCanceledError(err):
			return
		case activities.TypeOf(err) == activities.TypeConflict:
			t.tell(endConflict, shell.PlainError(err))
		default:
			// The last repeat is given up when the next would come too late; the
			// work has the rest of the time all the same.
			if left := t.lease.StopAt().Sub(workflow.Now(ctx)); left > 0 && workflow.Sleep(ctx, left) != nil {
				return
			}
			t.tell(endExpired, fmt.Sprintf("the claim could not be renewed until %s: %s", t.lease.StopAt().Format(time.RFC3339), shell.PlainError(err)))
		}
		t.show(ctx)
	}
}

// reclaim asks again and again while the claim's time allows.
func (t *task) reclaim(ctx workflow.Context) (taskclaim.Lease, error) {
	left := t.lease.StopAt().Sub(workflow.Now(ctx))
	if left <= 0 {
		return taskclaim.Lease{}, activities.Fail(activities.TypeExpired, activities.Failure{Message: "no time is left"})
	}
	options := activities.CallOptions()
	options.ScheduleToCloseTimeout = left
	options.StartToCloseTimeout = min(left, time.Minute)
	options.RetryPolicy.MaximumInterval = 10 * time.Second
	options.Summary = "renew the claim"
	var lease taskclaim.Lease
	err := shell.Execute(workflow.WithActivityOptions(ctx, options), wire.TaskReclaim, t.ref()).Get(ctx, &lease)
	return lease, err
}

func (t *task) ref() wire.TaskRef {
	return wire.TaskRef{Service: t.in.Claim.Service, TaskID: t.in.TaskID, RunID: t.in.RunID}
}

// resolve reports the outcome to the task service, until it has answered.
func (t *task) resolve(ctx workflow.Context, outcome wire.Outcome) error {
	if t.in.Claim == nil || outcome.State == wire.OutcomeCanceled {
		return nil
	}
	options := activities.CallOptions()
	options.ScheduleToCloseTimeout = 0 // until answered
	options.Summary = "report " + outcome.State
	if outcome.Reason != "" {
		options.Summary += ", " + outcome.Reason
	}
	return shell.Execute(workflow.WithActivityOptions(ctx, options), wire.TaskResolve,
		wire.ResolveInput{TaskRef: t.ref(), Outcome: outcome}).Get(ctx, nil)
}

// end tells the claimer and closes the task.
func (t *task) end(ctx workflow.Context, outcome wire.Outcome) (*Status, error) {
	now := workflow.Now(ctx)
	t.finished = &now
	t.state = map[string]string{
		wire.OutcomeCompleted: TaskCompleted, wire.OutcomeFailed: TaskFailed,
		wire.OutcomeException: TaskException, wire.OutcomeCanceled: TaskCanceled,
	}[outcome.State]
	t.show(ctx)
	if t.in.Claimer.WorkflowID != "" {
		options := workflow.LocalActivityOptions{ScheduleToCloseTimeout: time.Minute, Summary: "tell the claimer"}
		err := shell.ExecuteLocal(workflow.WithLocalActivityOptions(ctx, options), wire.TaskFinished, wire.FinishedInput{
			Claimer: t.in.Claimer, Took: duration.Duration(now.Sub(t.started)),
			Task: wire.FinishedTask{TaskID: t.in.TaskID, RunID: t.in.RunID, FirstRunID: t.in.Claimer.FirstRunID, Outcome: outcome},
		}).Get(ctx, nil)
		if err != nil { // it looks after its tasks itself and notices
			workflow.GetLogger(ctx).Warn("claimer could not be told", "claimer", t.in.Claimer.WorkflowID, "error", err)
		}
	}
	if err := t.shown.Show(ctx, shell.Shown{State: t.state, Type: wire.TypeTask, Target: t.in.Queue, Ended: true}); err != nil {
		return nil, err
	}
	status := t.status(now)
	return &status, nil
}

package task

import (
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/limits"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// States of a task.
const (
	TaskReporting = "REPORTING" // the work has ended, the task service is being told
	TaskCompleted = "COMPLETED"
	TaskFailed    = "FAILED"
	TaskException = "EXCEPTION"
	TaskCanceled  = "CANCELED"
)

// stopPatience is how long the work of a task may take to stop before its
// outcome is dropped.
const stopPatience = time.Minute

// Workflow is one run of a claimed task. It runs the work as its child
// "<its ID>/run", keeps the claim at the task service alive meanwhile, reports
// the outcome, and tells its claimer of its end. It completes whatever the
// outcome, which its result and SluiceState tell.
//
// Messages: signal stop, query status. Temporal's cancel does what stop does.
//
// History, workflow tasks not counted: nine events for a task without a task
// service; three more for its outcome, and five for each renewal of its claim. It
// continues as new between two renewals.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*Status, error) {
	var in continued
	if err := shell.DecodeInput(ctx, wire.TypeTask, raw, &in.input, &in); err != nil {
		return nil, err
	}
	info := workflow.GetInfo(ctx)
	t := &task{root: ctx, id: info.WorkflowExecution.ID, in: in.input, started: info.WorkflowStartTime, state: wire.TaskRunning, shown: shell.Given(ctx)}
	if in.Claim != nil {
		t.lease = in.Claim.Lease
	}
	if c := in.Carried; c != nil {
		t.started, t.lease, t.reclaims = c.StartedAt, c.Lease, c.Reclaims
	}
	shell.Hear(ctx, t.show)
	if err := t.listen(ctx); err != nil {
		return nil, err
	}
	return t.run(ctx, in.Carried != nil)
}

// task is a run of Task.
type task struct {
	root     workflow.Context // ends with Temporal's cancel
	id       string
	in       input
	started  time.Time // its first run
	finished *time.Time
	state    string
	reason   string
	shown    shell.Attributes
	inbox    shell.Inbox
	next     shell.RollOver

	lease      taskclaim.Lease
	reclaims   int
	reclaiming bool // a renewal is under way
	lastError  string

	// why the work was told to stop, the first reason; "" while it was not
	why      ending
	cancel   func() // asks the work to stop
	begun    bool   // the work runs
	followed bool   // an earlier run has started it
	ended    bool   // the work has ended
	workErr  error
	stopped  bool // it is a Request that ended STOPPED
}

// ending is why the work of a task was told to stop.
type ending string

const (
	endStopped  ending = "stopped"  // by the claimer or by cancel
	endConflict ending = "conflict" // the task service has decided otherwise
	endExpired  ending = "expired"  // the claim could not be renewed in time
)

// run begins the work, or follows that of the run before, and sees to its end.
func (t *task) run(ctx workflow.Context, follows bool) (*Status, error) {
	t.show(ctx)
	// What follows must go on when the workflow is cancelled: the outcome is
	// reported then too.
	steady, _ := workflow.NewDisconnectedContext(ctx)
	if follows {
		workflow.Go(steady, t.follow)
	} else {
		t.begin(steady)
	}
	t.inbox.Serve(ctx)
	workflow.Go(ctx, t.watchCancel)
	claimed, endClaim := workflow.WithCancel(steady)
	if t.in.Claim != nil {
		workflow.Go(claimed, t.keepClaim)
	}
	if over, err := t.awaitWork(steady); err != nil {
		return nil, err
	} else if over {
		return nil, t.rollOver(ctx)
	}
	endClaim() // reclaiming ends before the outcome is reported
	outcome := t.outcome()
	t.state, t.reason = TaskReporting, outcome.Reason
	t.show(ctx)
	if err := t.resolve(steady, outcome); err != nil {
		return nil, err
	}
	return t.end(steady, outcome)
}

// tell asks the work to stop, for the first reason that comes up.
func (t *task) tell(why ending, words string) {
	if t.why != "" || t.ended {
		return
	}
	t.why, t.lastError = why, limits.Clip(words, limits.Words)
	t.cancel()
}

func (t *task) watchCancel(ctx workflow.Context) {
	ctx.Done().Receive(ctx, nil)
	t.tell(endStopped, "canceled")
}

// outcome is what the end of the work means. What did not stop in time has its
// own outcome dropped, and so has what ended after its claim was lost.
func (t *task) outcome() wire.Outcome {
	switch {
	case t.why == endConflict:
		return wire.Outcome{State: wire.OutcomeCanceled}
	case t.why == endExpired:
		return exception(wire.ReasonClaimExpired)
	case t.why == endStopped && (!t.ended || t.workErr != nil || t.stopped):
		return exception(wire.ReasonWorkerShutdown)
	case t.workErr != nil:
		t.lastError = limits.Clip(activities.Redact(shell.PlainError(t.workErr)), limits.Words)
		return outcomeOf(t.workErr)
	case t.stopped:
		t.lastError = "the request was stopped"
		return wire.Outcome{State: wire.OutcomeFailed}
	default:
		return wire.Outcome{State: wire.OutcomeCompleted}
	}
}

// endedStopped reports that a Request ended STOPPED, which completes its workflow.
// What a work's result is does not matter otherwise, nor how it is encoded.
func (t *task) endedStopped(output json.RawMessage, unreadable error) bool {
	var end struct {
		State string `json:"state"`
	}
	return t.in.Run.Workflow == wire.TypeRequest && unreadable == nil && json.Unmarshal(output, &end) == nil && end.State == "STOPPED"
}

func exception(reason string) wire.Outcome {
	return wire.Outcome{State: wire.OutcomeException, Reason: reason}
}

// outcomeOf classifies how the work failed: by its own doing, or by what the
// task service may want to try again.
func outcomeOf(err error) wire.Outcome {
	var application *temporal.ApplicationError
	var canceled *temporal.CanceledError
	switch {
	case errors.As(err, &application):
		switch application.Type() {
		case activities.TypeInvalidInput:
			return exception(wire.ReasonMalformedPayload)
		case activities.TypeThrottled, activities.TypeUnavailable, activities.TypeWorkerStopping, activities.TypeWorkerLost:
			return exception(wire.ReasonIntermittentTask)
		default:
			return wire.Outcome{State: wire.OutcomeFailed}
		}
	case errors.As(err, &canceled): // by somebody else: neither its doing nor ours
		return exception(wire.ReasonWorkerShutdown)
	default: // terminated, timed out, could not be started
		return exception(wire.ReasonInternalError)
	}
}

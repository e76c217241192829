package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/limits"
	"sluice/internal/taskclaim"
	"sluice/internal/taskmessage"
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
// service; three more for its outcome, and five for each renewal of its claim.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*Status, error) {
	var in wire.TaskInput
	faults := document.Decode(raw, &in)
	checkTask(&in, workflow.GetInfo(ctx).WorkflowExecution.ID, &faults)
	if err := faults.Err(); err != nil {
		return nil, activities.Invalid(wire.TypeTask, err)
	}
	t := &task{in: in, started: workflow.GetInfo(ctx).WorkflowStartTime, state: wire.TaskRunning}
	t.shown = shell.Attributes{State: wire.TaskRunning, Kind: wire.TypeTask, Target: in.Queue} // set by who started it
	if in.Claim != nil {
		t.lease = in.Claim.Lease
	}
	if err := workflow.SetQueryHandler(ctx, wire.QueryStatus, func() (Status, error) {
		return t.status(workflow.Now(ctx)), nil
	}); err != nil {
		return nil, err
	}
	return t.run(ctx)
}

func checkTask(in *wire.TaskInput, id string, faults *document.Faults) {
	if !faults.Has("taskId") && !taskmessage.ValidID(in.TaskID) {
		faults.Add("taskId", "%q does not match [A-Za-z0-9_-]{1,64}", in.TaskID)
	}
	if in.RunID < 0 {
		faults.Add("runId", "%d is negative", in.RunID)
	}
	if in.Run.Workflow == "" {
		in.Run.Workflow = wire.TypeRequest
	}
	limits.CheckName(faults, "run.workflow", in.Run.Workflow)
	limits.CheckTaskQueue(faults, "run.taskQueue", in.Run.TaskQueue)
	limits.CheckFairnessKey(faults, "fairnessKey", in.FairnessKey)
	limits.CheckID(faults, "workflow ID", id, wire.TaskRunID(""))
}

// task is a run of Task.
type task struct {
	in       wire.TaskInput
	started  time.Time
	finished *time.Time
	state    string
	reason   string
	shown    shell.Attributes

	lease     taskclaim.Lease
	reclaims  int
	lastError string

	// why the work was told to stop, the first reason; "" while it was not
	why     ending
	cancel  workflow.CancelFunc
	ended   bool // the work has ended
	workErr error
	stopped bool // it is a Request that ended STOPPED
}

// ending is why the work of a task was told to stop.
type ending string

const (
	endStopped  ending = "stopped"  // by the claimer or by cancel
	endConflict ending = "conflict" // the task service has decided otherwise
	endExpired  ending = "expired"  // the claim could not be renewed in time
)

func (t *task) run(ctx workflow.Context) (*Status, error) {
	t.show(ctx)
	// What follows must go on when the workflow is cancelled: the outcome is
	// reported then too.
	steady, _ := workflow.NewDisconnectedContext(ctx)
	work, cancel := workflow.WithCancel(steady)
	t.cancel = cancel
	shell.NewInbox(ctx, wire.SignalStop).Serve(ctx, t.stopBySignal)
	workflow.Go(ctx, t.watchCancel)
	t.begin(work)
	claimed, endClaim := workflow.WithCancel(steady)
	if t.in.Claim != nil {
		workflow.Go(claimed, t.keepClaim)
	}
	if err := t.awaitWork(steady); err != nil {
		return nil, err
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

// begin starts the work. The child is terminated with the task, so that nothing
// works on under a claim that is over.
func (t *task) begin(ctx workflow.Context) {
	info := workflow.GetInfo(ctx)
	options := workflow.ChildWorkflowOptions{
		WorkflowID:            wire.TaskRunID(info.WorkflowExecution.ID),
		TaskQueue:             t.in.Run.TaskQueue,
		WaitForCancellation:   true,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_TERMINATE,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticSummary:         fmt.Sprintf("the work of task %s, run %d", t.in.TaskID, t.in.RunID),
		Priority:              temporal.Priority{FairnessKey: t.in.FairnessKey},
	}
	future := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), t.in.Run.Workflow, t.in.Payload)
	workflow.Go(ctx, func(ctx workflow.Context) {
		var result converter.RawValue
		if t.workErr = future.Get(ctx, &result); t.workErr == nil {
			t.stopped = t.in.Run.Workflow == wire.TypeRequest && endedStopped(result)
		}
		t.ended = true
	})
}

// awaitWork waits for the end of the work; once it was told to stop, not for
// ever.
func (t *task) awaitWork(ctx workflow.Context) error {
	if err := workflow.Await(ctx, func() bool { return t.ended || t.why != "" }); err != nil || t.ended {
		return err
	}
	t.state = wire.TaskStopping
	t.show(ctx)
	patience := stopPatience
	if t.in.Claim != nil && t.why != endConflict {
		patience = max(0, min(patience, t.lease.TakenUntil.Sub(workflow.Now(ctx))))
	}
	_, err := workflow.AwaitWithTimeout(ctx, patience, func() bool { return t.ended })
	return err
}

// tell asks the work to stop, for the first reason that comes up.
func (t *task) tell(why ending, words string) {
	if t.why != "" || t.ended {
		return
	}
	t.why, t.lastError = why, limits.Clip(words, limits.Words)
	t.cancel()
}

// stopBySignal takes the signal stop.
func (t *task) stopBySignal(name string, raw json.RawMessage) error {
	var message wire.StopInput
	if err := shell.Decode(name, raw, &message); err != nil {
		return err
	}
	t.tell(endStopped, message.Reason)
	return nil
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
func endedStopped(result converter.RawValue) bool {
	var end struct {
		State string `json:"state"`
	}
	output, err := activities.JSONOf(result.Payload())
	return err == nil && json.Unmarshal(output, &end) == nil && end.State == "STOPPED"
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

package task

import (
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// begin starts the work. Without a claim to renew it is terminated with the task;
// with one it outlives the run that started it, which a long claim ends again and
// again, and end terminates it.
func (t *task) begin(ctx workflow.Context) {
	policy := enumspb.PARENT_CLOSE_POLICY_TERMINATE
	if t.outlivesRun() {
		policy = enumspb.PARENT_CLOSE_POLICY_ABANDON
	}
	options := workflow.ChildWorkflowOptions{
		WorkflowID:            t.workID(),
		TaskQueue:             t.in.Run.TaskQueue,
		WaitForCancellation:   true,
		ParentClosePolicy:     policy,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		StaticDetails:         wire.About(t.in.Run.Workflow),
		StaticSummary:         fmt.Sprintf("the work of task %s, run %d", t.in.TaskID, t.in.RunID),
		Priority:              temporal.Priority{FairnessKey: t.in.FairnessKey},
	}
	if t.in.Run.Workflow == wire.TypeRequest {
		options.TypedSearchAttributes = shell.RequestAttributes(t.in.Payload)
	}
	work, cancel := workflow.WithCancel(ctx)
	t.cancel = cancel
	future := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(work, options), t.in.Run.Workflow, t.in.Payload)
	workflow.Go(ctx, func(ctx workflow.Context) {
		err := future.GetChildWorkflowExecution().Get(ctx, nil)
		t.begun = err == nil
		var runs *temporal.ChildWorkflowExecutionAlreadyStartedError
		if errors.As(err, &runs) && t.joins(ctx) {
			t.follow(ctx)
			return
		}
		var result converter.RawValue
		if t.workErr = future.Get(ctx, &result); t.workErr == nil {
			t.stopped = t.endedStopped(activities.JSONOf(result.Payload()))
		}
		t.ended = true
	})
}

func (t *task) workID() string { return wire.TaskRunID(t.id) }

// joins reports that the workflow that runs under the work's ID is the work: a Task
// that was reset meets what it had started before.
func (t *task) joins(ctx workflow.Context) bool {
	options := activities.CallOptions()
	options.Summary = "look at the work, which runs already"
	err := shell.Execute(workflow.WithActivityOptions(ctx, options), wire.JoinChild,
		wire.JoinInput{WorkflowID: t.workID(), Parent: t.id, Type: t.in.Run.Workflow}).Get(ctx, nil)
	return err == nil
}

// follow goes on with work that an earlier run started, until it ends.
func (t *task) follow(ctx workflow.Context) {
	t.begun, t.followed = true, true
	t.cancel = func() { workflow.RequestCancelExternalWorkflow(ctx, t.workID(), "") }
	if t.why != "" { // told meanwhile
		t.cancel()
	}
	output, err := shell.FollowedEnd(ctx, shell.Follow(ctx, wire.FollowInput{WorkflowID: t.workID(), StateOnly: true}))
	var unreadable *activities.UnreadableError
	if t.workErr = err; errors.As(err, &unreadable) {
		t.workErr = nil // it has completed, whatever with
	}
	t.stopped = t.endedStopped(output, err)
	t.ended = true
}

// awaitWork waits for the end of the work; once it was told to stop, not for ever.
// over says that it goes on in another run.
func (t *task) awaitWork(ctx workflow.Context) (over bool, err error) {
	for t.why == "" && !t.ended {
		if err := workflow.Await(ctx, func() bool { return t.ended || t.why != "" || t.mayRollOver(ctx) }); err != nil {
			return false, err
		}
		if t.ended || t.why != "" {
			break
		}
		if over, err := t.next.Now(ctx); over || err != nil {
			return over, err
		}
	}
	if t.ended {
		return false, nil
	}
	t.state = wire.TaskStopping
	t.show(ctx)
	patience := stopPatience
	if t.in.Claim != nil && t.why != endConflict {
		patience = max(0, min(patience, t.lease.TakenUntil.Sub(workflow.Now(ctx))))
	}
	if _, err = shell.AwaitFor(ctx, patience, "until the outcome of work that does not stop is dropped", func() bool { return t.ended }); err == nil && !t.ended {
		t.terminate(ctx)
	}
	return false, err
}

// terminate ends work that does not stop, where the end of the task does not.
func (t *task) terminate(ctx workflow.Context) {
	if !t.followed && !t.outlivesRun() {
		return
	}
	options := workflow.LocalActivityOptions{ScheduleToCloseTimeout: time.Minute, Summary: "terminate the work"}
	err := shell.ExecuteLocal(workflow.WithLocalActivityOptions(ctx, options), wire.TaskTerminate,
		wire.FollowInput{WorkflowID: t.workID()}).Get(ctx, nil)
	if err != nil {
		workflow.GetLogger(ctx).Error("work that outlived its task could not be terminated", "work", t.workID(), "error", err)
	}
}

package ingest

import (
	"encoding/json"
	"errors"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// claimer is the ClaimTasks that a run has started; nobody else's.
type claimer struct {
	execution workflow.Execution // none: it was not started, or has been ended
	future    workflow.ChildWorkflowFuture
}

// start starts the claimer of an ingestion. One of this name that somebody else
// started is a Conflict, and is left alone.
func (c *claimer) start(ctx workflow.Context, ingestion, queue string, input any) error {
	id := wire.ClaimID(ingestion)
	options := workflow.ChildWorkflowOptions{
		WorkflowID:            id,
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		TypedSearchAttributes: activities.StartAttributes(wire.ClaimOpen, wire.TypeClaimTasks, queue),
		StaticDetails:         wire.About(wire.TypeClaimTasks),
		StaticSummary:         "Claims the tasks of " + ingestion,
	}
	c.future = workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), wire.TypeClaimTasks, input)
	err := c.future.GetChildWorkflowExecution().Get(ctx, &c.execution)
	var running *temporal.ChildWorkflowExecutionAlreadyStartedError
	if errors.As(err, &running) {
		return activities.Fail(activities.TypeConflict, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: wire.TypeIngest, Target: id},
			Message:      "a claimer of this name runs already; start the ingestion under another ID, or stop the claimer",
		})
	}
	return err
}

// end drains the claimer, so that nothing of it is cut off, or tells it to stop its
// tasks. One that takes longer ends by itself, or with the ingestion.
func (c *claimer) end(ctx workflow.Context, drain bool) {
	if c.execution.ID == "" {
		return
	}
	message := wire.UpdateStop
	if drain {
		message = wire.UpdateDrain
	}
	err := leave(ctx, message+" "+c.execution.ID, wire.TemporalTell,
		wire.TellInput{WorkflowID: c.execution.ID, FirstRunID: c.execution.RunID, Update: message, Input: json.RawMessage("{}")})
	if err == nil {
		_, err = shell.AwaitFor(ctx, endingTime, "until the claimer has ended, or is left to itself", c.future.IsReady)
	}
	if ctx.Err() != nil {
		return // it is ended when the run is
	}
	if err == nil && c.future.IsReady() {
		err = c.future.Get(ctx, nil)
	}
	if err != nil {
		workflow.GetLogger(ctx).Warn("The claimer did not end well.", "claimer", c.execution.ID, "error", err)
	}
	c.execution = workflow.Execution{}
}

package ingest

import (
	"context"
	"errors"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/wire"
)

// holderOf names an ingestion to the counter.
func holderOf(p wire.IngestPlan) string { return p.Workflow + "/" + p.Run }

// JoinCount starts the workflow that counts what is delivered, unless it runs
// already, and tells it in the same step that this ingestion needs it. A repeat
// joins again, which changes nothing. A counter that is about to end is waited for.
func (i *Activities) JoinCount(ctx context.Context, p wire.IngestPlan) error {
	id := wire.CountID(p.Notifications)
	start := i.Temporal.NewWithStartWorkflowOperation(client.StartWorkflowOptions{
		ID: id, TaskQueue: i.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		Memo:                     map[string]any{wire.MemoStartedBy: holderOf(p)},
		TypedSearchAttributes:    activities.StartAttributes(wire.StateOpen, wire.TypeCountObjects, wire.QueueName(p.Notifications)),
		StaticDetails:            wire.About(wire.TypeCountObjects),
		StaticSummary:            "Counts the objects announced on " + wire.QueueName(p.Notifications),
	}, wire.TypeCountObjects, map[string]any{"queueUrl": p.Notifications, "table": p.Table, "key": "bucket"})
	handle, err := i.Temporal.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
		StartWorkflowOperation: start,
		UpdateOptions: client.UpdateWorkflowOptions{
			WorkflowID: id, UpdateName: wire.UpdateJoin, Args: []any{wire.CountHolder{Holder: holderOf(p)}},
			WaitForStage: client.WorkflowUpdateStageCompleted,
		},
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if err == nil {
		return nil
	}
	return activities.Fail(activities.TypeUnavailable, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.IngestJoinCount.Name, Target: id}, Message: err.Error(),
	})
}

// LeaveCount tells the counter that this ingestion needs it no more; it ends with
// the last, if an ingestion started it. Those that have ended without leaving, such
// as terminated ones, are taken out too. A repeat changes nothing.
func (i *Activities) LeaveCount(ctx context.Context, p wire.IngestPlan) error {
	left, err := i.leave(ctx, p, holderOf(p))
	if err != nil {
		return err
	}
	for _, holder := range left.Holders {
		if !i.hasEnded(ctx, holder) {
			continue
		}
		if _, err := i.leave(ctx, p, holder); err != nil {
			return err
		}
	}
	return nil
}

func (i *Activities) leave(ctx context.Context, p wire.IngestPlan, holder string) (left wire.CountHolders, err error) {
	handle, err := i.Temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: wire.CountID(p.Notifications), UpdateName: wire.UpdateLeave,
		Args: []any{wire.CountHolder{Holder: holder}}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, &left)
	}
	if activities.IsNotFound(err) {
		return left, nil // it has ended
	}
	return left, err
}

// hasEnded reports that an ingestion is over for certain.
func (i *Activities) hasEnded(ctx context.Context, holder string) bool {
	at := strings.LastIndexByte(holder, '/')
	if at < 0 {
		return true
	}
	described, err := i.Temporal.DescribeWorkflow(ctx, holder[:at], "")
	var gone *serviceerror.NotFound
	if err != nil {
		return errors.As(err, &gone)
	}
	info := described.RawResponse.GetWorkflowExecutionInfo()
	return info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetFirstRunId() != holder[at+1:]
}

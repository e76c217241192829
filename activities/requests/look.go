package requests

import (
	"context"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"

	"sluice/activities"
	"sluice/internal/wire"
)

// Look looks whether a workflow has done its first task, and why it has not. It
// changes nothing.
func (c *Children) Look(ctx context.Context, in wire.FollowInput) (*wire.ChildLook, error) {
	alive, done := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer done()
	described, err := c.Temporal.DescribeWorkflow(alive, in.WorkflowID, "")
	if err != nil {
		return nil, temporalFailure(wire.LookAtChild.Name, in.WorkflowID, err)
	}
	execution := described.RawResponse
	task, info := execution.GetPendingWorkflowTask(), execution.GetWorkflowExecutionInfo()
	switch {
	case info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
		return &wire.ChildLook{Begun: true}, nil
	case task.GetAttempt() > 1:
		why, err := c.lastTaskFailure(alive, execution)
		if err != nil {
			return nil, temporalFailure(wire.LookAtChild.Name, in.WorkflowID, err)
		}
		return &wire.ChildLook{Trouble: fmt.Sprintf("its workflow task fails again and again, %d times so far: %s", task.GetAttempt()-1, why)}, nil
	case task != nil && info.GetHistoryLength() <= firstTaskEvents:
		return &wire.ChildLook{Trouble: "no worker has taken up its first workflow task on queue " + info.GetTaskQueue()}, nil
	default:
		return &wire.ChildLook{Begun: true}, nil
	}
}

// firstTaskEvents is how long a history is whose first workflow task is not done:
// started, scheduled, begun.
const firstTaskEvents = 3

// lastTaskFailure is the message of the latest failed workflow task. The server writes
// down the first of several in a row.
func (c *Children) lastTaskFailure(ctx context.Context, of *workflowservice.DescribeWorkflowExecutionResponse) (string, error) {
	history, err := c.Temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: activity.GetInfo(ctx).Namespace, Execution: of.GetWorkflowExecutionInfo().GetExecution(), MaximumPageSize: 10,
	})
	if err != nil {
		return "", err
	}
	for _, event := range history.GetHistory().GetEvents() {
		if failed := event.GetWorkflowTaskFailedEventAttributes(); failed != nil {
			return activities.Shorten(activities.Redact(failed.GetFailure().GetMessage())), nil
		}
	}
	return "it times out", nil
}

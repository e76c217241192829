package requests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/wire"
)

// Children looks after what a request has started, where Temporal does not tell the
// request itself: workflows of an earlier run, and heartbeats.
type Children struct {
	Temporal  client.Client
	Converter converter.DataConverter // that heartbeats are read by; nil: the SDK's own
}

// All lists the activities under their names.
func (c *Children) All() []activities.Named {
	return []activities.Named{activities.On(wire.FollowWorkflow, c.Follow), activities.On(wire.JoinChild, c.Join), activities.On(wire.LookAtChild, c.Look),
		activities.On(wire.RequestRunningTime, c.RunningTime), activities.On(wire.ReadHeartbeats, c.ReadHeartbeats)}
}

// Follow waits for a workflow to end, through its continue-as-new, and returns
// how it did. It changes nothing, so it may be repeated and started anew.
func (c *Children) Follow(ctx context.Context, in wire.FollowInput) (*wire.Followed, error) {
	alive, done := activities.KeepAlive(ctx, activities.WaitingHeartbeat, nil)
	defer done()
	var value converter.RawValue
	err := c.Temporal.GetWorkflow(alive, in.WorkflowID, "").Get(alive, &value)
	if interrupted := activities.Interrupted(alive, wire.FollowWorkflow.Name, nil); interrupted != nil {
		return nil, interrupted
	}
	var ended *temporal.WorkflowExecutionError
	var notFound *serviceerror.NotFound
	switch {
	case err == nil:
		output, err := activities.JSONOf(value.Payload())
		var unreadable *activities.UnreadableError
		if errors.As(err, &unreadable) {
			return &wire.Followed{Status: wire.FollowedUnreadable, Type: unreadable.Encoding}, nil
		}
		if in.StateOnly {
			output = stateOf(output)
		}
		return &wire.Followed{Status: wire.FollowedCompleted, Output: output}, err
	case errors.As(err, &ended):
		return followed(ended), nil
	case errors.As(err, &notFound):
		return &wire.Followed{Status: wire.FollowedFailed, Type: activities.TypeNotFound, Message: "no workflow " + in.WorkflowID, NonRetryable: true}, nil
	default:
		return nil, activities.Fail(activities.TypeUnavailable, activities.Failure{ErrorDetails: activities.ErrorDetails{Operation: wire.FollowWorkflow.Name, Target: in.WorkflowID}, Message: err.Error()})
	}
}

func followed(ended *temporal.WorkflowExecutionError) *wire.Followed {
	var canceled *temporal.CanceledError
	var application *temporal.ApplicationError
	switch {
	case errors.As(ended, &application): // first: what failed may have a cancellation as its cause
		return &wire.Followed{Status: wire.FollowedFailed, Type: application.Type(), Message: application.Message(),
			NonRetryable: application.NonRetryable(), Delay: duration.Duration(application.NextRetryDelay())}
	case errors.As(ended, &canceled):
		return &wire.Followed{Status: wire.FollowedCanceled}
	default:
		return &wire.Followed{Status: wire.FollowedBroken, Message: errors.Unwrap(ended).Error()}
	}
}

// stateOf is what is left of a result when only its field state is wanted.
func stateOf(output json.RawMessage) json.RawMessage {
	var result struct {
		State string `json:"state"`
	}
	if json.Unmarshal(output, &result) != nil {
		return json.RawMessage("null")
	}
	short, err := json.Marshal(result)
	if err != nil {
		return json.RawMessage("null")
	}
	return short
}

// Join looks whether a workflow that ran already, when the asker was to start it, is
// the asker's own child: one that was started before the asker was reset, or terminated
// and started again. It may have ended since; then whoever follows it learns its end at
// once. A foreign one is a Conflict. It changes nothing.
func (c *Children) Join(ctx context.Context, in wire.JoinInput) (*wire.Joined, error) {
	alive, done := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer done()
	described, err := c.Temporal.DescribeWorkflow(alive, in.WorkflowID, "")
	if err != nil {
		return nil, temporalFailure(wire.JoinChild.Name, in.WorkflowID, err)
	}
	info := described.RawResponse.GetWorkflowExecutionInfo()
	failure := activities.Failure{ErrorDetails: activities.ErrorDetails{Operation: wire.JoinChild.Name, Target: in.WorkflowID}}
	if parent := info.GetParentExecution().GetWorkflowId(); parent != in.Parent || info.GetType().GetName() != in.Type {
		failure.Message = fmt.Sprintf("a workflow %s with this ID runs already, and is no %s that %s started", info.GetType().GetName(), in.Type, in.Parent)
		return nil, activities.Fail(activities.TypeConflict, failure)
	}
	return &wire.Joined{StartedAt: info.GetStartTime().AsTime()}, nil
}

// RunningTime asks a request how long it has run so far.
func (c *Children) RunningTime(ctx context.Context, in wire.FollowInput) (*wire.RunningTime, error) {
	alive, done := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer done()
	var status struct {
		AsOf         time.Time         `json:"asOf"`
		CreatedAt    time.Time         `json:"createdAt"`
		SuspendedFor duration.Duration `json:"suspendedFor"`
		SuspendedAt  *time.Time        `json:"suspendedAt"`
	}
	answer, err := c.Temporal.QueryWorkflow(alive, in.WorkflowID, "", wire.QueryStatus, json.RawMessage(`{"limit":0}`))
	if err == nil {
		err = answer.Get(&status)
	}
	if err != nil {
		return nil, activities.Fail(activities.TypeUnavailable, activities.Failure{ErrorDetails: activities.ErrorDetails{Operation: wire.RequestRunningTime.Name, Target: in.WorkflowID}, Message: err.Error()})
	}
	ran := status.AsOf.Sub(status.CreatedAt) - status.SuspendedFor.Std()
	if status.SuspendedAt == nil {
		ran += time.Since(status.AsOf) // a query's clock stands at its last workflow task
	}
	return &wire.RunningTime{Ran: duration.Duration(max(ran, 0)), Suspended: status.SuspendedAt != nil}, nil
}

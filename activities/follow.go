package activities

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"sluice/internal/duration"
)

// Names of the activities that look after the workflows that a Request started.
const (
	FollowWorkflow     = "Request.Follow"
	RequestRunningTime = "Request.RunningTime"
)

// Children looks after the workflows that a request started in an earlier run,
// whose ends Temporal no longer tells it.
type Children struct {
	Temporal client.Client
}

func (c *Children) activities() []named {
	return []named{{FollowWorkflow, c.Follow}, {RequestRunningTime, c.RunningTime}}
}

// FollowInput names a workflow.
type FollowInput struct {
	WorkflowID string `json:"workflowId"`
}

// How a followed workflow ended.
const (
	FollowedCompleted = "completed"
	FollowedCanceled  = "canceled"
	FollowedFailed    = "failed" // in any other way
)

// Followed is the end of a workflow.
type Followed struct {
	Status       string            `json:"status"`
	Output       json.RawMessage   `json:"output,omitempty"`
	Type         string            `json:"type,omitempty"`
	Message      string            `json:"message,omitempty"`
	NonRetryable bool              `json:"nonRetryable,omitempty"`
	Delay        duration.Duration `json:"delay,omitzero"`
}

// Follow waits for a workflow to end, through its continue-as-new, and returns
// how it did. It changes nothing, so it may be repeated and started anew.
func (c *Children) Follow(ctx context.Context, in FollowInput) (*Followed, error) {
	alive, done := KeepAlive(ctx, WaitingHeartbeat, nil)
	defer done()
	var output json.RawMessage
	err := c.Temporal.GetWorkflow(alive, in.WorkflowID, "").Get(alive, &output)
	if interrupted := Interrupted(alive, FollowWorkflow, nil); interrupted != nil {
		return nil, interrupted
	}
	var ended *temporal.WorkflowExecutionError
	var notFound *serviceerror.NotFound
	switch {
	case err == nil:
		return &Followed{Status: FollowedCompleted, Output: output}, nil
	case errors.As(err, &ended):
		return followed(ended), nil
	case errors.As(err, &notFound):
		return &Followed{Status: FollowedFailed, Type: TypeNotFound, Message: "no workflow " + in.WorkflowID, NonRetryable: true}, nil
	default:
		return nil, Fail(TypeUnavailable, Failure{ErrorDetails: ErrorDetails{Operation: FollowWorkflow, Target: in.WorkflowID}, Message: err.Error()})
	}
}

func followed(ended *temporal.WorkflowExecutionError) *Followed {
	var canceled *temporal.CanceledError
	var application *temporal.ApplicationError
	switch {
	case errors.As(ended, &canceled):
		return &Followed{Status: FollowedCanceled}
	case errors.As(ended, &application):
		return &Followed{Status: FollowedFailed, Type: application.Type(), Message: application.Message(),
			NonRetryable: application.NonRetryable(), Delay: duration.Duration(application.NextRetryDelay())}
	default:
		return &Followed{Status: FollowedFailed, Message: errors.Unwrap(ended).Error()}
	}
}

// RunningTime is how long a request has run.
type RunningTime struct {
	Ran       duration.Duration `json:"ran"` // since its first run began, time in SUSPENDED left out
	Suspended bool              `json:"suspended"`
}

// RunningTime asks a request how long it has run so far.
func (c *Children) RunningTime(ctx context.Context, in FollowInput) (*RunningTime, error) {
	alive, done := KeepAlive(ctx, WorkingHeartbeat, nil)
	defer done()
	var status struct {
		AsOf         time.Time         `json:"asOf"`
		CreatedAt    time.Time         `json:"createdAt"`
		SuspendedFor duration.Duration `json:"suspendedFor"`
		SuspendedAt  *time.Time        `json:"suspendedAt"`
	}
	answer, err := c.Temporal.QueryWorkflow(alive, in.WorkflowID, "", "status", json.RawMessage(`{"limit":0}`))
	if err == nil {
		err = answer.Get(&status)
	}
	if err != nil {
		return nil, Fail(TypeUnavailable, Failure{ErrorDetails: ErrorDetails{Operation: RequestRunningTime, Target: in.WorkflowID}, Message: err.Error()})
	}
	ran := status.AsOf.Sub(status.CreatedAt) - status.SuspendedFor.Std()
	if status.SuspendedAt == nil {
		ran += time.Since(status.AsOf) // a query's clock stands at its last workflow task
	}
	return &RunningTime{Ran: duration.Duration(max(ran, 0)), Suspended: status.SuspendedAt != nil}, nil
}

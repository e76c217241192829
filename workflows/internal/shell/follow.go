package shell

import (
	"encoding/json"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
)

// Follow waits for the end of a workflow that an earlier run started, of which
// Temporal does not tell this one. A context that ends ends the waiting only.
func Follow(ctx workflow.Context, in wire.FollowInput) *Future[wire.Followed] {
	options := activities.WaitOptions()
	options.WaitForCancellation = false
	options.Summary = "follow " + in.WorkflowID
	return Execute(workflow.WithActivityOptions(ctx, options), wire.FollowWorkflow, in)
}

// FollowedEnd is the output of a workflow that was followed, or its end as an error,
// as Temporal would have told it.
func FollowedEnd(ctx workflow.Context, future *Future[wire.Followed]) (json.RawMessage, error) {
	var end wire.Followed
	if err := future.Get(ctx, &end); err != nil {
		return nil, err
	}
	switch end.Status {
	case wire.FollowedCompleted:
		return end.Output, nil
	case wire.FollowedUnreadable:
		return nil, &activities.UnreadableError{Encoding: end.Type}
	case wire.FollowedCanceled:
		return nil, temporal.NewCanceledError()
	case wire.FollowedBroken:
		return nil, &BrokenError{Message: end.Message}
	default:
		return nil, temporal.NewApplicationErrorWithOptions(end.Message, end.Type,
			temporal.ApplicationErrorOptions{NonRetryable: end.NonRetryable, NextRetryDelay: end.Delay.Std()})
	}
}

// BrokenError is the end of a workflow that was terminated or timed out: by no
// failure of its own.
type BrokenError struct{ Message string }

func (b *BrokenError) Error() string { return b.Message }

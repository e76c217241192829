package quiescence

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Poll runs one activity once for the polling activity of a Quiescence with the
// activity source, and answers what it answers. Input: the source document. It
// exists so that the polls of any activity, in any language and on any task queue,
// do not fill the watch's history: each run has eleven events.
func Poll(ctx workflow.Context, raw json.RawMessage) (json.RawMessage, error) {
	var in wire.ActivitySource
	if err := shell.Decode(wire.TypePoll, raw, &in); err != nil {
		return nil, err
	}
	err := new(shell.Inbox).Listen(ctx, shell.OnQuery(wire.QueryStatus, "What is polled.", func() (map[string]any, error) {
		return map[string]any{"asOf": workflow.Now(ctx).UTC(), "activity": in.Name}, nil
	}))
	if err != nil {
		return nil, err
	}
	options := workflow.ActivityOptions{
		TaskQueue:              in.TaskQueue,
		ScheduleToStartTimeout: time.Minute,
		StartToCloseTimeout:    5 * time.Minute,
		Summary:                in.Name,
		// A poll that fails is a failed poll; the next one is due anyway.
		RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1},
	}
	var answer converter.RawValue
	future := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), in.Name, in.Input)
	if err := future.Get(ctx, &answer); err != nil {
		return nil, shell.OwnError(err)
	}
	return activities.JSONOf(answer.Payload())
}

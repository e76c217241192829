package shell

import (
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// Future is what an activity will answer.
type Future[Out any] struct {
	workflow.Future
	activity string
}

// Get waits for the answer and reads it into out, unless that is nil. What the
// activity told of its trouble is over then.
func (f *Future[Out]) Get(ctx workflow.Context, out *Out) error {
	defer arrivalsOf(ctx).forget(f.activity)
	if out == nil {
		return f.Future.Get(ctx, nil)
	}
	return f.Future.Get(ctx, out)
}

// Execute schedules an activity under the options of ctx.
func Execute[In, Out any](ctx workflow.Context, activity wire.Activity[In, Out], in In) *Future[Out] {
	return FutureOf(activity, workflow.ExecuteActivity(ctx, activity.Name, in))
}

// ExecuteLocal runs a local activity under the options of ctx.
func ExecuteLocal[In, Out any](ctx workflow.Context, activity wire.Activity[In, Out], in In) *Future[Out] {
	return FutureOf(activity, workflow.ExecuteLocalActivity(ctx, activity.Name, in))
}

// FutureOf is the future of an activity that was kept among others.
func FutureOf[In, Out any](activity wire.Activity[In, Out], future workflow.Future) *Future[Out] {
	return &Future[Out]{future, activity.Name}
}

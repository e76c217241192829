package ingest

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

const (
	// leastGrace is how long after the deadline what is under way may take to end,
	// the last comparison above all; in a long run it is a tenth of its time.
	leastGrace = time.Minute
	// endingTime is how long what was started may take to end.
	endingTime = time.Minute
)

// atMost is the time that something may take from now on: the longest, and where
// there is a deadline no more than till then and a little.
func (r *run) atMost(longest time.Duration) time.Duration {
	if r.deadline.IsZero() {
		return longest
	}
	grace := max(leastGrace, r.deadline.Sub(r.started)/10)
	left := max(r.deadline.Sub(r.now()), 0) + grace
	if longest > 0 {
		left = min(left, longest)
	}
	return left
}

// callAtMost runs an activity that is one bounded piece of work, to its end or the
// run's.
func callAtMost[Out any](ctx workflow.Context, r *run, summary string, activity wire.Activity[wire.IngestPlan, Out], output *Out) error {
	options := activities.CallOptions()
	options.Summary = summary
	options.ScheduleToCloseTimeout = r.atMost(options.ScheduleToCloseTimeout)
	return shell.Execute(workflow.WithActivityOptions(ctx, options), activity, r.plan).Get(ctx, output)
}

// callWithAzure is callAtMost on a worker that has access to Azure queues.
func callWithAzure[Out any](ctx workflow.Context, r *run, summary string, activity wire.Activity[wire.IngestPlan, Out], output *Out) error {
	queue := wire.AzureTaskQueue(workflow.GetInfo(ctx).TaskQueueName)
	return callAtMost(workflow.WithTaskQueue(ctx, queue), r, summary+", on a worker of "+queue, activity, output)
}

// leave runs an activity that ends something of the run, for a short while.
func leave[In, Out any](ctx workflow.Context, summary string, activity wire.Activity[In, Out], input In) error {
	options := activities.CallOptions()
	options.Summary = summary
	options.ScheduleToCloseTimeout = endingTime
	return shell.Execute(workflow.WithActivityOptions(ctx, options), activity, input).Get(ctx, nil)
}

// unlessLate passes over what failed once the deadline has passed: the comparison
// tells what came of it. A cancellation stays one.
func (r *run) unlessLate(ctx workflow.Context, err error) error {
	if err == nil || !r.isLate() || ctx.Err() != nil || temporal.IsCanceledError(err) {
		return err
	}
	r.passed = shell.TroubleOf(err)
	r.lastError = r.passed.Error
	workflow.GetLogger(ctx).Warn("Passed over, since the deadline has passed.", "phase", r.phase, "error", err)
	return nil
}

func (r *run) isLate() bool { return !r.deadline.IsZero() && !r.now().Before(r.deadline) }

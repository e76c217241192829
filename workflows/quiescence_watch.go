package workflows

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
)

// shortestBeat keeps a watch that polls often from being given up for lost when a
// worker is slow for a moment.
const shortestBeat = 4 * time.Second

// poll has the polling activity watch until it reports, or until a message
// interrupts it: then it hands back its state, which is the report.
func (o *observer) poll(ctx workflow.Context) (activities.WatchReport, error) {
	if o.command != "" {
		return o.standing(ctx), nil
	}
	options := activities.WaitOptions()
	options.Summary = fmt.Sprintf("watches %s", o.in.Source.Target())
	options.HeartbeatTimeout = 3 * max(activities.BeatEvery(o.rule), shortestBeat)
	watching, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	o.interrupt = cancel
	defer func() { o.interrupt = nil }()
	report := activities.WatchReport{}
	err := workflow.ExecuteActivity(watching, activities.WatchQuiescence, activities.WatchInput{
		Source: o.in.Source, Rule: o.rule, State: o.state, LateUntil: o.lateUntil,
	}).Get(ctx, &report)
	var canceled *temporal.CanceledError
	if errors.As(err, &canceled) && ctx.Err() == nil {
		report = o.standing(ctx)
		state := report.State
		if canceled.HasDetails() && canceled.Details(&state) == nil {
			report.State = state
		}
		// An attempt that never started leaves none; what had been seen since the
		// last report is then seen again.
		report.State.Retime(o.rule)
		return report, nil
	}
	return report, ownError(err)
}

// standing reports what is known already.
func (o *observer) standing(ctx workflow.Context) activities.WatchReport {
	return activities.WatchReport{State: o.state, At: workflow.Now(ctx).UTC()}
}

// ownError takes the error of an activity out of what Temporal wraps it in, so
// that the workflow ends with its type.
func ownError(err error) error {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application
	}
	return err
}

package quiescence

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// shortestBeat keeps a watch that polls often from being given up for lost when a
// worker is slow for a moment.
const shortestBeat = 4 * time.Second

// poll has the polling activity watch until it reports, or until a message
// interrupts it: then it hands back its state, which is the report.
func (o *observer) poll(ctx workflow.Context) (wire.WatchReport, error) {
	if o.ending.reason != "" {
		return o.standing(ctx), nil
	}
	options := activities.WaitOptions()
	options.Summary = fmt.Sprintf("watches %s", o.in.Source.Target())
	options.HeartbeatTimeout = 3 * max(activities.BeatEvery(o.rule), shortestBeat, o.state.Spacing.Std())
	end, err := shell.Wait[quiescence.State](ctx, &o.polling, options, wire.WatchQuiescence, wire.WatchInput{
		Source: o.in.Source, Rule: o.rule, State: o.state, LateUntil: o.lateUntil,
	})
	if err != nil {
		return wire.WatchReport{}, err
	}
	if end.Result != nil && !end.Interrupted {
		return *end.Result, nil
	}
	report := o.standing(ctx)
	switch {
	case end.Result != nil:
		report.State = end.Result.State
	case end.Left != nil:
		report.State = *end.Left
	}
	if end.Interrupted {
		report.State.Spacing = 0
	}
	// What was decided by the rule that a message changed is decided anew.
	report.State.Retime(o.rule)
	return report, nil
}

// standing reports what is known already.
func (o *observer) standing(ctx workflow.Context) wire.WatchReport {
	return wire.WatchReport{State: o.state, At: workflow.Now(ctx).UTC()}
}

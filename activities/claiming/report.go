package claiming

import (
	"cmp"
	"context"
	"time"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/wire"
)

// allowed is what the workflow allows: as it said last, while nothing has come that
// may change it.
func (p *poller) allowed(ctx context.Context) (wire.ClaimControl, error) {
	now := time.Now()
	if last, holds := p.control.current(now); holds {
		return last, nil
	}
	p.control.asking(now)
	answer, err := p.ask(ctx, false)
	if err != nil {
		p.control.unanswered()
		return answer, err
	}
	if p.control.answered(answer) {
		p.books.happened(now)
	}
	return answer, nil
}

// reportOf is the report with which an activity ends whose successor heartbeats so
// far apart.
func (p *poller) reportOf(spacing time.Duration) wire.PollReport {
	report := p.memory().Report()
	report.Carry.Spacing = duration.Duration(spacing)
	report.Carry.Place = p.control.own.Place()
	return report
}

// ask queries the claimer's workflow.
func (p *poller) ask(ctx context.Context, tasks bool) (control wire.ClaimControl, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	run := p.info.WorkflowExecution
	value, err := p.Temporal.QueryWorkflow(ctx, run.ID, run.RunID, wire.QueryClaimControl, wire.ClaimControlQuery{Tasks: tasks})
	if err != nil {
		return control, err
	}
	err = value.Get(&control)
	return control, err
}

// spacing is that of the heartbeats in force.
func (p *poller) spacing() time.Duration {
	return max(activities.WaitingHeartbeat, p.in.Carry.Spacing.Std())
}

// calm has half of the usual spacing: what a lost claimer has taken waits for its end.
func (p *poller) calm() activities.Calm {
	calm := p.Calm
	calm.Spacing = cmp.Or(calm.Spacing, activities.CalmSpacing/2)
	return calm
}

// untilTold is how long the loop may wait before it looks again whether to report.
func (p *poller) untilTold() time.Duration {
	if p.books.unreported() {
		return tellSoon
	}
	return controlEvery
}

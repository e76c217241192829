package claiming

import (
	"cmp"
	"context"
	"slices"
	"time"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/taskclaim"
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
		p.happened()
	}
	return answer, nil
}

// happened notes that something has happened that the workflow is told in any case:
// heartbeats are to be frequent.
func (p *poller) happened() {
	p.mu.Lock()
	p.active = time.Now()
	p.mu.Unlock()
}

// stirred notes something that may come and go all day, which has frequent heartbeats
// go on; rare ones become frequent when it is told. p.mu is held.
func (p *poller) stirred() {
	if p.spacing() == activities.WaitingHeartbeat {
		p.active = time.Now()
	}
}

// reportOf is the report with which an activity ends whose successor heartbeats so
// far apart.
func (p *poller) reportOf(spacing time.Duration) wire.PollReport {
	report := p.memory().Report()
	report.Carry.Spacing = duration.Duration(spacing)
	report.Carry.Place = p.control.own.Place()
	return report
}

// slots counts by what the workflow knows and what it has not been told yet.
func (p *poller) slots(control wire.ClaimControl) taskclaim.Slots {
	p.mu.Lock()
	defer p.mu.Unlock()
	return taskclaim.Slots{
		Capacity: control.Capacity,
		Running:  control.Running + p.unfinished(control.Early),
		MaxTasks: control.MaxTasks,
		Claimed:  control.Claimed + int64(len(p.tasks)),
	}
}

// unfinished counts the unreported tasks that have not finished; p.mu is held.
func (p *poller) unfinished(early []string) int {
	ended := make(map[string]bool, len(early))
	for _, id := range early {
		ended[id] = true
	}
	n := 0
	for _, t := range p.tasks {
		if !ended[t.ID()] {
			n++
		}
	}
	return n
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

// believe takes a task's word that it ended as proof that it had started.
func (p *poller) believe(early []string) {
	for _, id := range early {
		p.makeSure(id)
	}
}

// due tells whether to end the activity and report, and how far apart the heartbeats
// are to be then. A change of their spacing schedules the activity anew. To calm
// down is paid for as other news is, so that a day of errors stays cheap.
func (p *poller) due(control wire.ClaimControl) (time.Duration, bool) {
	now := time.Now()
	tells := p.tells(control, now)
	p.mu.Lock()
	defer p.mu.Unlock()
	spacing := p.calm().Beats(now.Sub(p.active))
	if p.news.other {
		spacing = activities.WaitingHeartbeat
	}
	changed := spacing > p.spacing() && p.credit.Affords() || spacing < p.spacing() && p.active.After(p.began)
	return spacing, tells || changed
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

// tells is whether there is something that the workflow must know.
func (p *poller) tells(control wire.ClaimControl, now time.Time) bool {
	slots := p.slots(control)
	p.mu.Lock()
	defer p.mu.Unlock()
	over := (control.State != wire.ClaimOpen || slots.Exhausted()) && slots.Running == 0
	if over || control.Rollover || now.Sub(p.began) > shift {
		return true
	}
	if len(p.tasks) > 0 && p.news.since.IsZero() {
		p.news.since = p.tasks[0].Since
	}
	since := p.news.since
	if since.IsZero() {
		since = p.began
	}
	p.credit = p.credit.Earn(now)
	news := taskclaim.News{
		Started: slices.ContainsFunc(p.tasks, func(t wire.OpenTask) bool { return t.Sure }),
		Other:   p.news.other, Urgent: len(p.news.lost) > 0, Age: now.Sub(since), Quiet: now.Sub(p.began),
	}
	return news.Due(p.credit)
}

// untilTold is how long the loop may wait before it looks again whether to report.
func (p *poller) untilTold() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.tasks) > 0 || len(p.news.lost) > 0 {
		return tellSoon
	}
	return controlEvery
}

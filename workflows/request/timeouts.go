package request

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// watchTimeouts stops child requests that have run for longer than their job's
// timeout. Their time in SUSPENDED does not count, and only they know it: when
// the timeout could be over at the earliest they are asked. Other child
// workflows have their timeout from Temporal.
func (r *request) watchTimeouts(ctx workflow.Context) {
	now := workflow.Now(ctx)
	for _, t := range r.tries {
		c := t.child
		if c == nil || !c.isRequest || c.timedOut || !c.running() {
			continue
		}
		if c.startedAt.IsZero() {
			c.startedAt = now
		}
		if c.checkAt.IsZero() {
			c.checkAt = c.startedAt.Add(c.timeout)
		}
		switch {
		case c.checking != nil && c.checking.IsReady():
			r.checked(ctx, c, now)
		case c.checking == nil && r.gate.State == jobchain.Running && !now.Before(c.checkAt):
			c.checking = r.askRunningTime(c)
		}
	}
}

func (r *request) askRunningTime(c *child) *shell.Future[wire.RunningTime] {
	options := activities.CallOptions()
	options.ScheduleToCloseTimeout = time.Minute
	options.Summary = "running time of " + c.id
	ctx := workflow.WithActivityOptions(r.ctx, options)
	return shell.Execute(ctx, wire.RequestRunningTime, wire.FollowInput{WorkflowID: c.id})
}

// checked takes the answer: the child is over its time, or is asked again when
// it could be. One that is suspended by itself is asked ever more seldom.
func (r *request) checked(ctx workflow.Context, c *child, now time.Time) {
	const soonest, latest = 10 * time.Second, time.Hour
	var ran wire.RunningTime
	err := c.checking.Get(ctx, &ran)
	c.checking = nil
	left := c.timeout - ran.Ran.Std()
	switch {
	case err == nil && left <= 0:
		c.timedOut = true
	case err == nil && !ran.Suspended:
		c.checkAt = now.Add(left)
	default:
		c.checkAt = now.Add(max(left, min(max(now.Sub(c.startedAt)/4, soonest), latest)))
	}
}

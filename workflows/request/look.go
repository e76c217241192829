package request

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// A child whose workflow task fails again and again, as one whose type no worker
// knows, is to its parent one that runs: Temporal tells no difference. So who has not
// ended after a while is looked at, ever more rarely, until it has done its first
// task.
const (
	firstLook  = 30 * time.Second
	rarestLook = 10 * time.Minute
)

// lookAtChildren looks at those that may not have begun. Its timer is not set anew for
// children that come and go: one that fires for nothing costs less.
func (r *request) lookAtChildren(ctx workflow.Context) {
	now := workflow.Now(ctx)
	r.looks.Take()
	var next time.Time
	for _, t := range r.tries {
		c := t.child
		if c == nil || c.begun || !c.running() {
			continue
		}
		if c.lookAt.IsZero() {
			c.lookAt, c.lookWait = now.Add(firstLook), firstLook
		}
		switch {
		case c.looking != nil && c.looking.IsReady():
			r.looked(ctx, c, now)
		case c.looking == nil && r.gate.State == jobchain.Running && !now.Before(c.lookAt):
			c.looking = r.look(c)
		}
		if !c.begun && c.looking == nil {
			next = shell.Soonest(next, c.lookAt)
		}
	}
	if armed := r.looks.At(); r.gate.State == jobchain.Running && !next.IsZero() && (armed.IsZero() || next.Before(armed)) {
		r.looks.Set(r.ctx, next, "looks whether its children have begun")
	}
}

func (r *request) look(c *child) *shell.Future[wire.ChildLook] {
	options := activities.CallOptions()
	options.ScheduleToCloseTimeout = time.Minute
	options.Summary = "look whether " + c.id + " has begun"
	return shell.Execute(workflow.WithActivityOptions(r.ctx, options), wire.LookAtChild, wire.FollowInput{WorkflowID: c.id})
}

// looked takes in what was seen. Who could not look does so again.
func (r *request) looked(ctx workflow.Context, c *child, now time.Time) {
	var seen wire.ChildLook
	if c.looking.Get(ctx, &seen) == nil {
		c.begun, c.trouble = seen.Begun, seen.Trouble
	}
	c.looking = nil
	c.lookWait = min(2*c.lookWait, rarestLook)
	c.lookAt = now.Add(c.lookWait)
}

// unlooked reports that lookAtChildren has something to take up.
func (c *child) unlooked() bool {
	return !c.begun && c.running() && (c.lookAt.IsZero() || c.looking != nil && c.looking.IsReady())
}

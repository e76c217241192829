package claimtasks

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// listen sets up the messages.
func (c *claimer) listen(ctx workflow.Context) error {
	err := c.inbox.Listen(ctx,
		shell.OnQuery(wire.QueryStatus, "Tasks, queues and what is claimed.", func() (Status, error) { return c.status(ctx), nil }),
		shell.OnQueryOf(wire.QueryClaimControl, "What the polling activity may do.", nil, func(q wire.ClaimControlQuery) (wire.ClaimControl, error) {
			return c.state.control(c.in, q.Tasks, workflow.GetInfo(ctx).GetContinueAsNewSuggested()), nil
		}),
		shell.OnUpdate(wire.UpdateCapacity, "Change how many tasks may run at once.", c.setCapacity).If(open[capacityInput](c, wire.UpdateCapacity)),
		shell.OnUpdate(wire.UpdateDrain, "Claim no more, wait for the running tasks, then end.", c.drain).
			Over(func() drainInput { return drainInput{Wait: duration.Duration(30 * time.Second)} }).If(open[drainInput](c, wire.UpdateDrain)),
		shell.OnUpdate(wire.UpdateStop, "Claim no more, tell the running tasks to stop, then end.", c.stopNow).If(open[wire.StopInput](c, wire.UpdateStop)),
		shell.OnSignal(wire.SignalFinished, c.finished),
	)
	if err != nil {
		return err
	}
	steady, _ := workflow.NewDisconnectedContext(ctx)
	c.inbox.Serve(steady)
	return nil
}

// open refuses what comes while the workflow closes.
func open[In any](c *claimer, update string) func(workflow.Context, In) error {
	return func(ctx workflow.Context, _ In) error {
		if !c.ended {
			return nil
		}
		return shell.Refused(ctx, update, activities.TypeConflict, fmt.Sprintf("the claimer is %s and has ended", c.state.State))
	}
}

func (c *claimer) setCapacity(ctx workflow.Context, in capacityInput) (Status, error) {
	c.state.Capacity = in.Capacity
	return c.answer(ctx)
}

// drain answers when the claimer is about to end, or after wait.
func (c *claimer) drain(ctx workflow.Context, in drainInput) (Status, error) {
	if c.state.State == wire.ClaimOpen {
		c.state.State = wire.ClaimDraining
		if err := c.show(ctx); err != nil {
			return Status{}, err
		}
	}
	if _, err := shell.AwaitFor(ctx, in.Wait.Std(), "until drain is answered", func() bool { return c.ended }); err != nil {
		return Status{}, err
	}
	return c.answer(ctx)
}

// stopNow answers at once; the tasks are told by the polling activity.
func (c *claimer) stopNow(ctx workflow.Context, in wire.StopInput) (Status, error) {
	c.stop(in.Reason)
	return c.answer(ctx)
}

func (c *claimer) answer(ctx workflow.Context) (Status, error) {
	if err := c.show(ctx); err != nil {
		return Status{}, err
	}
	return c.status(ctx), nil
}

// finished takes the ends of tasks. One of an earlier claimer under the same ID is
// not ours to count.
func (c *claimer) finished(_ workflow.Context, told wire.FinishedTasks) error {
	for _, t := range told.Tasks {
		if t.FirstRunID == "" || t.FirstRunID == c.ref.FirstRunID {
			c.state.finish(wire.TaskID(t.TaskID, t.RunID), t.State != wire.OutcomeCompleted)
		}
	}
	return nil
}

// capacityInput is the input of the update capacity.
type capacityInput struct {
	Capacity int `json:"capacity" doc:"required"`
}

// Check reports what is wrong with the values.
func (u *capacityInput) Check(faults *document.Faults) {
	if !faults.Has("capacity") && (u.Capacity < 1 || u.Capacity > maxCapacity) {
		faults.Add("capacity", "%d is not from 1 to %d", u.Capacity, maxCapacity)
	}
}

// drainInput is the input of the update drain.
type drainInput struct {
	Wait duration.Duration `json:"wait"` // for the running tasks, at most 1m
}

// Check reports what is wrong with the values.
func (u *drainInput) Check(faults *document.Faults) {
	if u.Wait.Std() > time.Minute {
		faults.Add("wait", "%s is longer than 1m; ask again instead", u.Wait)
	}
}

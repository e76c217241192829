package claimtasks

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

func (c *claimer) handleUpdates(ctx workflow.Context) error {
	if err := workflow.SetUpdateHandlerWithOptions(ctx, wire.UpdateCapacity, c.onCapacity,
		workflow.UpdateHandlerOptions{Validator: c.checkCapacity, Description: "Change how many tasks may run at once."}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, wire.UpdateDrain, c.onDrain,
		workflow.UpdateHandlerOptions{Validator: c.checkDrain, Description: "Claim no more, wait for the running tasks, then end."}); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, wire.UpdateStop, c.onStop,
		workflow.UpdateHandlerOptions{Validator: c.checkStop, Description: "Claim no more, tell the running tasks to stop, then end."})
}

func (c *claimer) checkCapacity(raw json.RawMessage) error {
	if err := c.refuseEnded(wire.UpdateCapacity); err != nil {
		return err
	}
	return shell.Decode(wire.UpdateCapacity, raw, &capacityInput{})
}

func (c *claimer) onCapacity(ctx workflow.Context, raw json.RawMessage) (Status, error) {
	var u capacityInput
	if err := shell.Decode(wire.UpdateCapacity, raw, &u); err != nil {
		return Status{}, err
	}
	c.state.Capacity = u.Capacity
	return c.answer(ctx)
}

func defaultDrain() drainInput { return drainInput{Wait: duration.Duration(30 * time.Second)} }

func (c *claimer) checkDrain(raw json.RawMessage) error {
	if err := c.refuseEnded(wire.UpdateDrain); err != nil {
		return err
	}
	u := defaultDrain()
	return shell.Decode(wire.UpdateDrain, raw, &u)
}

// onDrain answers when the claimer is about to end, or after wait.
func (c *claimer) onDrain(ctx workflow.Context, raw json.RawMessage) (Status, error) {
	u := defaultDrain()
	if err := shell.Decode(wire.UpdateDrain, raw, &u); err != nil {
		return Status{}, err
	}
	if c.state.State == wire.ClaimOpen {
		c.state.State = wire.ClaimDraining
		if err := c.show(ctx); err != nil {
			return Status{}, err
		}
	}
	if _, err := shell.AwaitFor(ctx, u.Wait.Std(), "until drain is answered", func() bool { return c.ended }); err != nil {
		return Status{}, err
	}
	return c.answer(ctx)
}

func (c *claimer) checkStop(raw json.RawMessage) error {
	if err := c.refuseEnded(wire.UpdateStop); err != nil {
		return err
	}
	return shell.Decode(wire.UpdateStop, raw, &wire.StopInput{})
}

// onStop answers at once; the tasks are told by the polling activity.
func (c *claimer) onStop(ctx workflow.Context, raw json.RawMessage) (Status, error) {
	var u wire.StopInput
	if err := shell.Decode(wire.UpdateStop, raw, &u); err != nil {
		return Status{}, err
	}
	c.stop(u.Reason)
	return c.answer(ctx)
}

func (c *claimer) answer(ctx workflow.Context) (Status, error) {
	if err := c.show(ctx); err != nil {
		return Status{}, err
	}
	return c.status(ctx), nil
}

// refuseEnded refuses what comes while the workflow closes.
func (c *claimer) refuseEnded(update string) error {
	if !c.ended {
		return nil
	}
	return activities.Fail(activities.TypeConflict, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: update}, Message: fmt.Sprintf("the claimer is %s and has ended", c.state.State)})
}

// handle sets up queries, updates and the signal.
func (c *claimer) handle(ctx workflow.Context) error {
	if err := c.handleQueries(ctx); err != nil {
		return err
	}
	if err := c.handleUpdates(ctx); err != nil {
		return err
	}
	steady, _ := workflow.NewDisconnectedContext(ctx)
	c.signals = shell.NewInbox(ctx, wire.SignalFinished)
	c.signals.Serve(steady, c.finished)
	return nil
}

func (c *claimer) handleQueries(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, wire.QueryStatus, func() (Status, error) {
		return c.status(ctx), nil
	}); err != nil {
		return err
	}
	return workflow.SetQueryHandler(ctx, wire.QueryClaimControl, func(q wire.ClaimControlQuery) (wire.ClaimControl, error) {
		return c.state.control(c.in, q.Tasks, workflow.GetInfo(ctx).GetContinueAsNewSuggested()), nil
	})
}

// finished takes the ends of tasks. One of an earlier claimer under the same ID is
// not ours to count.
func (c *claimer) finished(name string, raw json.RawMessage) error {
	var told wire.FinishedTasks
	if err := shell.Decode(name, raw, &told); err != nil {
		return err
	}
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

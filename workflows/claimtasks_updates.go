package workflows

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/wire"
)

func (c *claimer) handleUpdates(ctx workflow.Context) error {
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateCapacity, c.onCapacity,
		workflow.UpdateHandlerOptions{Validator: c.checkCapacity, Description: "Change how many tasks may run at once."}); err != nil {
		return err
	}
	if err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateDrain, c.onDrain,
		workflow.UpdateHandlerOptions{Validator: c.checkDrain, Description: "Claim no more, wait for the running tasks, then end."}); err != nil {
		return err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateStop, c.onStop,
		workflow.UpdateHandlerOptions{Validator: c.checkStop, Description: "Claim no more, tell the running tasks to stop, then end."})
}

func (c *claimer) checkCapacity(raw json.RawMessage) error {
	if err := c.refuseEnded(UpdateCapacity); err != nil {
		return err
	}
	return decode(UpdateCapacity, raw, &claimCapacity{})
}

func (c *claimer) onCapacity(ctx workflow.Context, raw json.RawMessage) (ClaimTasksStatus, error) {
	var u claimCapacity
	if err := decode(UpdateCapacity, raw, &u); err != nil {
		return ClaimTasksStatus{}, err
	}
	c.state.Capacity = u.Capacity
	return c.answer(ctx)
}

func defaultDrain() claimDrain { return claimDrain{Wait: duration.Duration(30 * time.Second)} }

func (c *claimer) checkDrain(raw json.RawMessage) error {
	if err := c.refuseEnded(UpdateDrain); err != nil {
		return err
	}
	u := defaultDrain()
	return decode(UpdateDrain, raw, &u)
}

// onDrain answers when the claimer is about to end, or after wait.
func (c *claimer) onDrain(ctx workflow.Context, raw json.RawMessage) (ClaimTasksStatus, error) {
	u := defaultDrain()
	if err := decode(UpdateDrain, raw, &u); err != nil {
		return ClaimTasksStatus{}, err
	}
	if c.state.State == wire.ClaimOpen {
		c.state.State = wire.ClaimDraining
		if err := c.show(ctx); err != nil {
			return ClaimTasksStatus{}, err
		}
	}
	if _, err := workflow.AwaitWithTimeout(ctx, u.Wait.Std(), func() bool { return c.ended }); err != nil {
		return ClaimTasksStatus{}, err
	}
	return c.answer(ctx)
}

func (c *claimer) checkStop(raw json.RawMessage) error {
	if err := c.refuseEnded(UpdateStop); err != nil {
		return err
	}
	return decode(UpdateStop, raw, &claimStop{})
}

// onStop answers at once; the tasks are told by the polling activity.
func (c *claimer) onStop(ctx workflow.Context, raw json.RawMessage) (ClaimTasksStatus, error) {
	var u claimStop
	if err := decode(UpdateStop, raw, &u); err != nil {
		return ClaimTasksStatus{}, err
	}
	c.stop(u.Reason)
	return c.answer(ctx)
}

func (c *claimer) answer(ctx workflow.Context) (ClaimTasksStatus, error) {
	if err := c.show(ctx); err != nil {
		return ClaimTasksStatus{}, err
	}
	return c.state.status(workflow.Now(ctx)), nil
}

// refuseEnded refuses what comes while the workflow closes.
func (c *claimer) refuseEnded(update string) error {
	if !c.ended {
		return nil
	}
	return activities.Fail(activities.TypeConflict, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: update}, Message: fmt.Sprintf("the claimer is %s and has ended", c.state.State)})
}

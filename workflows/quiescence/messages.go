package quiescence

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/limits"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// endingWait is how long `finish` and `stop` wait for the polling activity to hand
// back what it saw: it hears of it with its next heartbeat.
const endingWait = 30 * time.Second

// handle sets up the messages.
func (o *observer) handle(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, wire.QueryStatus, o.status); err != nil {
		return err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, wire.UpdateTune, o.tune, workflow.UpdateHandlerOptions{Validator: o.validateTune})
	if err != nil {
		return err
	}
	if err := o.handleEnding(ctx, wire.UpdateFinish, quiescence.ReasonForced); err != nil {
		return err
	}
	return o.handleEnding(ctx, wire.UpdateStop, quiescence.ReasonStopped)
}

// tuning decodes a `tune` message over the rule in force.
func (o *observer) tuning(raw json.RawMessage) (ruleInput, error) {
	rule := o.in.ruleInput
	err := shell.Decode(wire.UpdateTune, raw, &rule)
	return rule, err
}

func (o *observer) validateTune(raw json.RawMessage) error {
	if o.over {
		return o.conflict(wire.UpdateTune)
	}
	_, err := o.tuning(raw)
	return err
}

func (o *observer) conflict(message string) error {
	return activities.Fail(activities.TypeConflict, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: message},
		Message:      "the watch is DONE",
	})
}

// tune changes the rule of the watch that goes on. What was seen stays.
func (o *observer) tune(ctx workflow.Context, raw json.RawMessage) (Status, error) {
	rule, err := o.tuning(raw)
	if err != nil {
		return Status{}, err
	}
	now := workflow.Now(ctx).UTC()
	rule.fix(now)
	startBy := o.rule.StartBy
	o.in.ruleInput = rule
	o.rule = rule.rule(now)
	o.rule.StartBy = startBy
	o.applyLateness()
	o.state.Retime(o.rule)
	o.tuned = true
	o.polling.Interrupt()
	return o.status()
}

// handleEnding sets up a message that ends the watch for a reason.
func (o *observer) handleEnding(ctx workflow.Context, name, reason string) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name, func(ctx workflow.Context, raw json.RawMessage) (Status, error) {
		var in finishInput
		if err := shell.Decode(name, raw, &in); err != nil {
			return Status{}, err
		}
		o.endBy(reason, in.Reason)
		_, err := workflow.AwaitWithTimeout(ctx, endingWait, func() bool { return o.over })
		if err != nil {
			return Status{}, err
		}
		return o.status()
	}, workflow.UpdateHandlerOptions{Validator: func(raw json.RawMessage) error {
		return shell.Decode(name, raw, &finishInput{})
	}})
}

func (o *observer) endBy(reason, note string) {
	if o.over {
		if reason == quiescence.ReasonStopped && o.stopActs != nil {
			o.stopActs()
		}
		return
	}
	if o.command == "" || reason == quiescence.ReasonStopped {
		o.command, o.note = reason, limits.Clip(note, limits.Words)
	}
	o.polling.Interrupt()
}

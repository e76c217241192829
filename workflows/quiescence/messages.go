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

// ending is what messages have said of the end of the watch.
type ending struct {
	reason string // for which the watch ends; "" again once the watch is over
	note   string // whose words
	at     time.Time
	// stopped says that no `then` entry is begun any more.
	stopped bool
}

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
	if o.over || o.ending.reason != "" {
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

// handleEnding sets up a message that ends the watch for a reason. It is answered at
// once with what it leads to: the result, whose figures are those of the last report
// until the polling activity has handed back what it saw.
func (o *observer) handleEnding(ctx workflow.Context, name, reason string) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name, func(ctx workflow.Context, raw json.RawMessage) (Status, error) {
		var in finishInput
		if err := shell.Decode(name, raw, &in); err != nil {
			return Status{}, err
		}
		o.endBy(reason, limits.Clip(in.Reason, limits.Words), workflow.Now(ctx).UTC())
		return o.status()
	}, workflow.UpdateHandlerOptions{Validator: func(raw json.RawMessage) error {
		return shell.Decode(name, raw, &finishInput{})
	}})
}

// endBy carries a message out that ends the watch. The first of them gives the reason;
// a stop after it still cancels what follows.
func (o *observer) endBy(reason, note string, now time.Time) {
	if !o.over && o.ending.reason == "" {
		o.ending.reason, o.ending.note, o.ending.at = reason, note, now
	} else if reason == quiescence.ReasonStopped {
		o.stopAfter(note)
	}
	if reason == quiescence.ReasonStopped {
		o.ending.stopped = true
		o.then.cancel()
		if o.stopActs != nil {
			o.stopActs()
		}
	}
	o.polling.Interrupt()
}

// stopAfter adds to the words of a result that a stop came before all that follows it
// was delivered.
func (o *observer) stopAfter(note string) {
	if o.ending.stopped || o.result != nil && o.then.underWay == 0 {
		return // nothing is left to cancel
	}
	words := "stopped before all that follows was delivered"
	if note != "" {
		words += ": " + note
	}
	if o.ending.note != "" {
		words = o.ending.note + "; " + words
	}
	o.ending.note = limits.Clip(words, 2*limits.Words)
	if o.result != nil {
		o.result.Note = o.ending.note
	}
}

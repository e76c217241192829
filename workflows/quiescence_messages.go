package workflows

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/quiescence"
)

// endingWait is how long `finish` and `stop` wait for the polling activity to hand
// back what it saw: it hears of it with its next heartbeat.
const endingWait = 30 * time.Second

// handle sets up the messages.
func (o *observer) handle(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryStatus, o.status); err != nil {
		return err
	}
	err := workflow.SetUpdateHandlerWithOptions(ctx, UpdateTune, o.tune, workflow.UpdateHandlerOptions{Validator: o.validateTune})
	if err != nil {
		return err
	}
	if err := o.handleEnding(ctx, UpdateFinish, quiescence.ReasonForced); err != nil {
		return err
	}
	return o.handleEnding(ctx, UpdateStop, quiescence.ReasonStopped)
}

func (o *observer) status() (QuiescenceStatus, error) {
	phase := o.state.Phase()
	if o.over {
		phase = quiescence.Done
	}
	return QuiescenceStatus{
		AsOf:          o.asOf,
		Phase:         phase,
		Count:         o.state.Count,
		Repeats:       o.state.Repeats,
		RepeatsNeeded: o.rule.Repeats,
		Polls:         o.state.Polls,
		FailedPolls:   o.state.FailedPolls,
		LastChangeAt:  moment(o.state.LastChangeAt),
		NextPollAt:    o.unlessOver(o.state.NextPollAt),
		QuietAt:       o.unlessOver(o.state.QuietAt(o.rule)),
		Generation:    max(o.state.Generation, 1),
		LastError:     o.state.LastError,
		Result:        o.result,
	}, nil
}

func (o *observer) unlessOver(t time.Time) *time.Time {
	if o.over {
		return nil
	}
	return moment(t)
}

// tuning decodes a `tune` message over the rule in force.
func (o *observer) tuning(raw json.RawMessage) (quiescenceRule, error) {
	rule := o.in.quiescenceRule
	err := decode(UpdateTune, raw, &rule)
	return rule, err
}

func (o *observer) validateTune(raw json.RawMessage) error {
	if o.over {
		return o.conflict(UpdateTune)
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
func (o *observer) tune(ctx workflow.Context, raw json.RawMessage) (QuiescenceStatus, error) {
	rule, err := o.tuning(raw)
	if err != nil {
		return QuiescenceStatus{}, err
	}
	now := workflow.Now(ctx).UTC()
	rule.fix(now)
	startBy := o.rule.StartBy
	o.in.quiescenceRule = rule
	o.rule = rule.rule(now)
	o.rule.StartBy = startBy
	o.applyLateness()
	o.state.Retime(o.rule)
	o.tuned = true
	o.polling.interrupt()
	return o.status()
}

// handleEnding sets up a message that ends the watch for a reason.
func (o *observer) handleEnding(ctx workflow.Context, name, reason string) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name, func(ctx workflow.Context, raw json.RawMessage) (QuiescenceStatus, error) {
		var in finishInput
		if err := decode(name, raw, &in); err != nil {
			return QuiescenceStatus{}, err
		}
		o.endBy(reason, in.Reason)
		_, err := workflow.AwaitWithTimeout(ctx, endingWait, func() bool { return o.over })
		if err != nil {
			return QuiescenceStatus{}, err
		}
		return o.status()
	}, workflow.UpdateHandlerOptions{Validator: func(raw json.RawMessage) error {
		return decode(name, raw, &finishInput{})
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
		o.command, o.note = reason, note
	}
	o.polling.interrupt()
}

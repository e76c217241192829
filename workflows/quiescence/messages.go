package quiescence

import (
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

// listen sets up the messages.
func (o *observer) listen(ctx workflow.Context) error {
	messages := []shell.Message{
		shell.OnQuery(wire.QueryStatus, "What is watched, what was seen, and what follows.", o.status),
		shell.OnUpdate(wire.UpdateTune, "Change the rule of the watch.", o.tune).
			Over(func() ruleInput { return o.in.ruleInput }).If(o.mayTune),
		shell.OnUpdate(wire.UpdateFinish, "End the watch as if it had fallen quiet.", o.endAs(quiescence.ReasonForced)),
		shell.OnUpdate(wire.UpdateStop, "End the watch, and begin nothing that would follow.", o.endAs(quiescence.ReasonStopped)),
	}
	if o.in.Source.Signal != nil {
		messages = append(messages, shell.OnSignal(wire.SignalObserved, o.observe))
	}
	return o.inbox.Listen(ctx, messages...)
}

func (o *observer) mayTune(ctx workflow.Context, _ ruleInput) error {
	if !o.over && o.ending.reason == "" {
		return nil
	}
	return shell.Refused(ctx, wire.UpdateTune, activities.TypeConflict, "the watch is DONE")
}

// tune changes the rule of the watch that goes on. What was seen stays.
func (o *observer) tune(ctx workflow.Context, rule ruleInput) (Status, error) {
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

// endAs carries a message out that ends the watch for a reason. It is answered at
// once with what it leads to: the result, whose figures are those of the last report
// until the polling activity has handed back what it saw.
func (o *observer) endAs(reason string) func(workflow.Context, finishInput) (Status, error) {
	return func(ctx workflow.Context, in finishInput) (Status, error) {
		o.endBy(reason, limits.Clip(in.Reason, limits.Words), workflow.Now(ctx).UTC())
		return o.status()
	}
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

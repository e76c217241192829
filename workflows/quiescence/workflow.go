package quiescence

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Workflow watches a target until nothing new has come for a while, then does
// what `then` says. Input: Input. It completes with a Result;
// only Temporal's cancel, a source that refuses to go on (onDelete "fail") and a
// wrong input end it otherwise.
//
// Messages: updates `tune` (any of repeats, delay, quietFor, minRecords, expected,
// deadline), `finish` {"reason"} and `stop` {"reason"}, all answering
// Status; query `status`; signal `observed` for the signal source.
//
// History: six events for the start and the end, seven for a report of the polling
// activity, of which there are at most thirteen a day however the data comes (see
// quiescence.Reports), so a day of waiting adds less than a hundred. A message
// adds about ten, a `then` entry six, an `observed` signal four.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*Result, error) {
	in := continued{Input: defaultInput()}
	if err := shell.DecodeInput(ctx, wire.TypeQuiescence, raw, &in.Input, &in); err != nil {
		return nil, err
	}
	o, err := newObserver(ctx, in)
	if err != nil {
		return nil, err
	}
	return o.run(ctx)
}

// observer is a run of Quiescence.
type observer struct {
	ctx   workflow.Context
	in    Input
	rule  quiescence.Rule
	state quiescence.State
	total int64 // of the signal source

	asOf      time.Time
	lateUntil time.Time
	result    *Result // of the last generation that ended, but for what follows it
	then      outcomes
	over      bool // nothing is watched any more
	shown     shell.Attributes

	ending   ending        // by a message
	tuned    bool          // a message changed the rule
	polling  shell.Waiting // the polling activity
	alarm    alarm         // the one timer of the signal source
	inbox    shell.Inbox   // the signal observed of the signal source
	next     shell.RollOver
	stopActs workflow.CancelFunc // ends the `then` entries under way
}

func newObserver(ctx workflow.Context, in continued) (*observer, error) {
	now := workflow.Now(ctx).UTC()
	o := &observer{ctx: ctx, in: in.Input, asOf: now}
	o.in.fix(now)
	o.rule = o.in.rule(now)
	if in.StartTimeout > 0 {
		o.rule.StartBy = now.Add(in.StartTimeout.Std())
	}
	if c := in.Carried; c != nil {
		o.rule.StartBy, o.lateUntil, o.state, o.result, o.total = c.StartBy, c.LateUntil, c.State, c.Result, c.Total
		o.then = outcomesOf(c.Result)
	}
	o.applyLateness()
	show := func(ctx workflow.Context) { _ = o.show(ctx) } // fails only where another does, which is told
	o.polling.Mended = show
	shell.Hear(ctx, show)
	if err := o.listen(ctx); err != nil {
		return nil, err
	}
	return o, o.show(ctx)
}

// run watches until the watch is over, and until what follows is done.
func (o *observer) run(ctx workflow.Context) (*Result, error) {
	watch := o.poll
	if o.in.Source.Signal != nil {
		watch = o.hearOut
	}
	acts, stopActs := workflow.WithCancel(ctx)
	o.stopActs = stopActs
	for !o.over {
		report, err := watch(ctx)
		if err != nil {
			return nil, err
		}
		o.take(ctx, acts, report)
		if err := o.show(ctx); err != nil {
			return nil, err
		}
		for o.mayContinueAsNew(ctx) {
			if now, err := o.next.Now(ctx); err != nil {
				return nil, err
			} else if now {
				return nil, o.continueAsNew(ctx)
			}
		}
	}
	err := workflow.Await(ctx, func() bool { return o.then.underWay == 0 && workflow.AllHandlersFinished(ctx) })
	return o.outcome(), err
}

// take takes in what the watch found, then what a message asked for meanwhile. A
// watch for late data that found none leaves the result as it is.
func (o *observer) take(ctx, acts workflow.Context, report wire.WatchReport) {
	o.state = report.State
	o.asOf = report.At
	if report.Reason != "" {
		o.end(ctx, acts, report.Reason)
	}
	o.over = o.over || report.Over || o.ending.reason != ""
	if o.ending.reason != "" && !o.state.Idle {
		o.end(ctx, acts, o.ending.reason)
	}
	o.ending.reason = ""
}

// end gives a generation its result and begins what follows it.
func (o *observer) end(ctx, acts workflow.Context, reason string) {
	now := workflow.Now(ctx).UTC()
	first := o.result == nil
	o.result = o.endedBy(reason, now)
	o.asOf = now
	o.act(acts)
	watched := reason == quiescence.ReasonQuiet || reason == quiescence.ReasonExpected
	if first && watched && o.in.Late.Watch > 0 {
		o.lateUntil = now.Add(o.in.Late.Watch.Std())
	}
	o.state.Settle()
	o.applyLateness()
	if !watched || !now.Before(o.lateUntil) {
		o.over = true
	}
}

// endedBy is the result of the generation if it ends now.
func (o *observer) endedBy(reason string, now time.Time) *Result {
	return &Result{
		Reason:       reason,
		Note:         o.ending.note,
		Count:        o.state.Count,
		Polls:        o.state.Polls,
		FailedPolls:  o.state.FailedPolls,
		LastError:    o.state.LastError,
		FirstAt:      shell.TimeOrNil(o.state.FirstAt),
		LastChangeAt: shell.TimeOrNil(o.state.LastChangeAt),
		FinishedAt:   now,
		Generation:   max(o.state.Generation, 1),
		Late:         o.result != nil,
	}
}

// applyLateness moves the deadline behind the watch for late data: what comes in
// it is owed a chance to fall quiet too.
func (o *observer) applyLateness() {
	if !o.lateUntil.IsZero() && !o.rule.Deadline.IsZero() && o.rule.Deadline.Before(o.lateUntil) {
		o.rule.Deadline = o.lateUntil
	}
}

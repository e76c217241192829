package quiescence

import (
	"strconv"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// hearOut waits for a target that tells of its changes itself. It needs no timer a
// tick: quiet comes so and so long after the last change, and news only moves it
// further away.
func (o *observer) hearOut(ctx workflow.Context) (wire.WatchReport, error) {
	for {
		if ctx.Err() != nil { // which makes the alarm ring again and again
			return wire.WatchReport{}, ctx.Err()
		}
		now := workflow.Now(ctx).UTC()
		o.hear(ctx, now)
		if report, ok := o.heard(ctx, now); ok {
			return report, nil
		}
		o.alarm.set(ctx, o.wake())
		o.tuned = false
		err := workflow.Await(ctx, func() bool {
			return o.alarm.rings() || o.hears() || o.ending.reason != "" || o.tuned
		})
		if err != nil {
			return wire.WatchReport{}, err
		}
	}
}

// hears reports that there are signals to take in.
func (o *observer) hears() bool { return o.inbox.Pending() }

// hear takes in the signals that have arrived. Those that arrived while no worker
// was there are taken in before the ticks of that time are counted, so that our
// own outage makes nothing quiet.
func (o *observer) hear(ctx workflow.Context, now time.Time) {
	if o.state.Polls == 0 {
		o.state.Observe(o.rule, o.reading(), now, now)
	}
	o.inbox.Take(ctx)
	o.state.Elapse(o.rule, now)
}

// observe takes in what a signal tells.
func (o *observer) observe(ctx workflow.Context, told observed) error {
	before, now := o.total, workflow.Now(ctx).UTC()
	if told.Total != nil {
		o.total = *told.Total
	} else {
		o.total += *told.Count
	}
	if o.state.Decide(o.rule, now) == quiescence.ReasonExpected {
		return nil // which ends it at once: what comes after in the same task does not undo that
	}
	if o.total != before { // told twice is harmless
		o.state.Elapse(o.rule, now)
		o.state.Observe(o.rule, o.reading(), now, now)
	}
	return nil
}

// reading is the total as a poll would find it.
func (o *observer) reading() quiescence.Reading {
	return quiescence.Reading{Version: strconv.FormatInt(o.total, 10), Count: o.total, Present: o.total > 0}
}

// heard tells what there is to report.
func (o *observer) heard(ctx workflow.Context, now time.Time) (wire.WatchReport, bool) {
	report := o.standing(ctx)
	report.Over = o.state.Idle && !now.Before(o.lateUntil)
	report.Reason = o.state.Decide(o.rule, now)
	phase := o.state.Phase()
	told := o.state.Reports.Due(phase, now)
	if told {
		o.state.Reports.Told(phase, now)
		report.State = o.state
	}
	full := workflow.GetInfo(ctx).GetContinueAsNewSuggested() && o.then.underWay == 0
	return report, report.Over || report.Reason != "" || told || o.ending.reason != "" || full
}

// wake is when something will be decided if no news comes: zero for never.
func (o *observer) wake() time.Time {
	wake := o.state.QuietAt(o.rule)
	if o.state.Idle {
		wake = o.lateUntil
	} else {
		wake = shell.Earlier(wake, o.rule.Deadline)
	}
	if !o.state.Started {
		wake = shell.Earlier(wake, o.rule.StartBy)
	}
	if o.state.Reports.Spare() {
		// The first tick without news is where FLOWING becomes SETTLING.
		if o.state.Started && o.state.Repeats == 0 {
			wake = shell.Earlier(wake, o.state.NextPollAt)
		}
	}
	return wake
}

// alarm is one timer that is set again only for an earlier time: one that rings
// too early costs two events, one that is set anew for every signal would cost
// them every time.
type alarm struct {
	at     time.Time
	timer  workflow.Future
	cancel workflow.CancelFunc
}

func (a *alarm) rings() bool { return a.timer != nil && a.timer.IsReady() }

func (a *alarm) set(ctx workflow.Context, at time.Time) {
	if a.rings() {
		a.timer = nil
	}
	if at.IsZero() || a.timer != nil && !at.Before(a.at) {
		return
	}
	if a.timer != nil {
		a.cancel()
	}
	timed, cancel := workflow.WithCancel(ctx)
	a.at, a.cancel = at, cancel
	a.timer = workflow.NewTimerWithOptions(timed, max(at.Sub(workflow.Now(ctx)), time.Millisecond),
		workflow.TimerOptions{Summary: "looks whether it is quiet"})
}

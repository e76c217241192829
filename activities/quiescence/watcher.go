package quiescence

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// pollTimeout bounds one call of a poll, so that a hanging service is a failed
// poll and no hanging watch.
const pollTimeout = 30 * time.Second

// pollSource reads a target once, completely. An error is a failed poll; one made with
// endWatch ends the watch.
type pollSource interface {
	poll(ctx context.Context) (quiescence.Reading, error)
}

// endWatch is an error of a poll after which watching on makes no sense.
type endWatch struct{ error }

// watcher is one run of Watch. Its loop owns the state; others read snapshots.
type watcher struct {
	source    pollSource
	rule      quiescence.Rule
	state     quiescence.State
	lateUntil time.Time
	calm      activities.Calm
	began     time.Time
	spacing   time.Duration                          // of the heartbeats of this run; 0: things happen
	now       func() time.Time                       // as the server has it
	align     func(wait time.Duration) time.Duration // lengthens a wait to end with others
	beat      func()
	trouble   *activities.TroubleTeller
	metrics   client.MetricsHandler
	published atomic.Pointer[wire.WatchBeat]
}

func (w *watcher) run(ctx context.Context) (wire.WatchReport, error) {
	for {
		now := w.now()
		if report, ok := w.due(now); ok {
			return report, nil
		}
		if wait := w.wake().Sub(now); wait > 0 {
			if err := activities.Sleep(ctx, w.align(wait)); err != nil {
				return wire.WatchReport{}, err
			}
			continue
		}
		if err := w.poll(ctx, now); err != nil {
			return wire.WatchReport{}, err
		}
		w.publish()
		// News is told at once, that there is none with the next heartbeat.
		if w.state.Repeats == 0 || w.state.InARow > 0 {
			w.beat()
		}
		if report, ok := w.found(w.now()); ok {
			return report, nil
		}
	}
}

// poll takes a reading into the state; a poll that the end of the watch cut short
// says nothing and counts as nothing.
func (w *watcher) poll(ctx context.Context, began time.Time) error {
	reading, err := w.source.poll(ctx)
	ended := w.now()
	var end endWatch
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &end):
		return end.error
	case err != nil:
		w.metrics.Counter("sluice_quiescence_failed_polls").Inc(1)
		w.state.Fail(w.rule, activities.Shorten(activities.Redact(err.Error())), began, ended)
		w.state.LastErrorType = activities.TypeOf(err)
	case w.state.Observe(w.rule, reading, began, ended):
		w.metrics.Counter("sluice_quiescence_polls").Inc(1)
	default: // it hung
		w.metrics.Counter("sluice_quiescence_failed_polls").Inc(1)
	}
	w.trouble.Tell(w.state.Trouble())
	return nil
}

// due tells what is decided without a poll.
func (w *watcher) due(now time.Time) (wire.WatchReport, bool) {
	if w.state.Idle && !now.Before(w.lateUntil) {
		return w.report("", true, now), true
	}
	// A rule that was tuned may hold for what was seen already.
	if reason := w.state.Decide(w.rule, now); reason != "" {
		return w.ended(reason, now), true
	}
	return wire.WatchReport{}, false
}

// found tells what there is to report after a poll.
func (w *watcher) found(now time.Time) (wire.WatchReport, bool) {
	if reason := w.state.Decide(w.rule, now); reason != "" {
		return w.ended(reason, now), true
	}
	phase, spacing := w.state.Phase(), w.beats(now)
	if spacing > activities.WaitingHeartbeat {
		phase += calmPhase
	}
	if w.state.Reports.Due(phase, now) {
		w.state.Reports.Told(phase, now)
		w.state.Spacing = duration.Duration(spacing)
		return w.report("", false, now), true
	}
	return wire.WatchReport{}, false
}

// calmPhase is added to a phase in which heartbeats are rare.
const calmPhase = "/calm"

// beats is how far apart the heartbeats are to be: something happened last with a
// change, with a failed poll, or as this run began, unless that was calm from the start.
func (w *watcher) beats(now time.Time) time.Duration {
	last := w.state.LastChangeAt
	if w.state.InARow > 0 {
		last = w.state.LastPollAt
	}
	if w.spacing <= activities.WaitingHeartbeat && w.began.After(last) {
		last = w.began
	}
	return w.calm.Beats(now.Sub(last))
}

func (w *watcher) ended(reason string, now time.Time) wire.WatchReport {
	if !w.state.LastChangeAt.IsZero() {
		w.metrics.Timer("sluice_quiescence_time_to_quiet").Record(now.Sub(w.state.LastChangeAt))
	}
	return w.report(reason, false, now)
}

func (w *watcher) report(reason string, over bool, now time.Time) wire.WatchReport {
	return wire.WatchReport{State: *w.copy(), Reason: reason, Over: over, At: now}
}

func (w *watcher) wake() time.Time {
	wake := w.state.Wake(w.rule)
	if w.state.Idle && w.lateUntil.Before(wake) {
		return w.lateUntil
	}
	return wake
}

func (w *watcher) publish() {
	w.published.Store(&wire.WatchBeat{State: *w.copy(), QuietAt: w.state.QuietAt(w.rule)})
}

func (w *watcher) snapshot() *wire.WatchBeat { return w.published.Load() }

func (w *watcher) copy() *quiescence.State {
	state := w.state
	state.Arrivals.Count = slices.Clone(state.Arrivals.Count)
	return &state
}

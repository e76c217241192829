package shell

import (
	"cmp"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/backoff"
	"sluice/internal/wire"
)

// Waiting is the activity of a workflow that waits for something to happen, and
// that messages interrupt. However an attempt ends after that (with a result,
// cancelled, failed, its worker lost, never begun), the message goes on from what
// the attempt knew.
//
// The workflow owns the repeats: every attempt is an activity of its own. What
// Temporal itself would repeat loses its heartbeat when it is cancelled between
// two attempts. A repeat costs six events, and there is one only where a worker is
// lost or stops.
type Waiting struct {
	cancel      workflow.CancelFunc // of the attempt under way; nil between two
	interrupted bool
	failures    int // attempts in a row that failed for nobody's stop or loss
	untaken     int // attempts in a row that no worker has begun
	trouble     Trouble

	// Mended is called when an attempt has gone on for so long that what was in
	// trouble before is no more, so that it can be shown. nil calls nobody.
	Mended func(workflow.Context)
}

// Trouble is why attempt after attempt has failed, or was not begun.
func (w *Waiting) Trouble() Trouble { return w.trouble }

// Interrupt has the attempt under way hand back what it knows. Between two
// attempts there is no need: the next begins with what the message changed.
func (w *Waiting) Interrupt() {
	if w.cancel != nil {
		w.interrupted = true
		w.cancel()
	}
}

// Uninterrupted reports that an attempt is under way that no message has
// interrupted.
func (w *Waiting) Uninterrupted() bool { return w.cancel != nil && !w.interrupted }

// Waited is how an attempt ended: with a result, or with the state that it left.
// There is neither where it never began.
type Waited[R, S any] struct {
	Result *R
	Left   *S
	// Interrupted says that a message came meanwhile: a result is to be judged
	// by what the message changed.
	Interrupted bool
	// Failure is what the next attempt is to mend.
	Failure error
}

// Wait runs one attempt, and the pause that a failed one is followed by. It fails
// where the activity does for good and no message came meanwhile, and when the
// workflow is cancelled.
func Wait[S, In, R any](ctx workflow.Context, w *Waiting, options workflow.ActivityOptions, activity wire.Activity[In, R], input In) (Waited[R, S], error) {
	options.WaitForCancellation = true
	options.RetryPolicy = &temporal.RetryPolicy{MaximumAttempts: 1}
	options.ScheduleToStartTimeout = Untaken(w.untaken)
	attempt, cancel := workflow.WithCancel(workflow.WithActivityOptions(ctx, options))
	defer cancel()
	w.cancel, w.interrupted = cancel, false
	defer func() { w.cancel = nil }()
	if w.trouble.Type != "" {
		workflow.Go(attempt, w.mend)
	}

	var result R
	err := Execute(attempt, activity, input).Get(attempt, &result)
	switch {
	case err == nil:
		w.failures, w.untaken, w.trouble = 0, 0, Trouble{}
		return Waited[R, S]{Result: &result, Interrupted: w.interrupted}, nil
	case ctx.Err() != nil:
		return Waited[R, S]{}, ctx.Err()
	case !w.interrupted && final(err):
		return Waited[R, S]{}, OwnError(err)
	case !w.interrupted:
		w.judge(ctx, err, options)
		w.pause(attempt, err)
	}
	end := Waited[R, S]{Left: leftBy[S](err), Interrupted: w.interrupted}
	if !w.interrupted {
		end.Failure = OwnError(err)
	}
	return end, ctx.Err()
}

// judge takes in how an attempt failed by itself. The first failure in a row is no
// trouble: the next attempt may well mend it.
func (w *Waiting) judge(ctx workflow.Context, err error, options workflow.ActivityOptions) {
	if !NeverTaken(err) {
		w.untaken = 0
		if w.trouble = (Trouble{}); w.failures > 0 {
			w.trouble = TroubleOf(err)
		}
		return
	}
	w.untaken++
	w.trouble = NoWorker(cmp.Or(options.TaskQueue, workflow.GetInfo(ctx).TaskQueueName))
}

// mend ends the trouble of the attempts before once the present one is known to go
// on.
func (w *Waiting) mend(ctx workflow.Context) {
	wait := Untaken(w.untaken) + 5*time.Second // a worker has taken it, or it has ended by then
	options := workflow.TimerOptions{Summary: "until it is clear that the attempt goes on"}
	if workflow.NewTimerWithOptions(ctx, wait, options).Get(ctx, nil) != nil {
		return
	}
	if w.trouble, w.untaken = (Trouble{}), 0; w.Mended != nil {
		w.Mended(ctx)
	}
}

// pause waits after a failure, or until a message comes. A worker that was lost or
// stops is nobody's overload: another goes on at once.
func (w *Waiting) pause(ctx workflow.Context, err error) {
	var timeout *temporal.TimeoutError
	if errors.As(err, &timeout) || activities.TypeOf(err) == activities.TypeWorkerStopping {
		w.failures = 0
		return
	}
	w.failures++
	delay := backoff.Policy{Base: time.Second, Cap: 30 * time.Second}.Ceiling(w.failures)
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		delay = max(delay, application.NextRetryDelay())
	}
	_ = workflow.NewTimerWithOptions(ctx, delay, workflow.TimerOptions{Summary: "until the next attempt"}).Get(ctx, nil)
}

// final reports that repeating does not mend an attempt that failed by itself.
func final(err error) bool {
	var application *temporal.ApplicationError
	return errors.As(err, &application) && application.NonRetryable()
}

// leftBy is the state that an attempt handed over as it ended, or heartbeat last;
// nil where there is none.
func leftBy[S any](err error) *S {
	var raw json.RawMessage
	var timeout *temporal.TimeoutError
	var canceled *temporal.CanceledError
	var application *temporal.ApplicationError
	switch {
	case errors.As(err, &timeout):
		raw = Detail(timeout.HasLastHeartbeatDetails(), timeout.LastHeartbeatDetails)
	case errors.As(err, &canceled):
		raw = Detail(canceled.HasDetails(), canceled.Details)
	case errors.As(err, &application):
		raw = CheckpointIn(application)
	}
	// An attempt that no worker has begun has request.notStarted in this place, which is
	// no state.
	left := new(S)
	if len(raw) == 0 || string(raw) == "null" || json.Unmarshal(raw, left) != nil {
		return nil
	}
	return left
}

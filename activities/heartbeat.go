package activities

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"sluice/internal/quiescence"
)

// How often activities heartbeat, by what they do, so that cancellation arrives
// in seconds.
const (
	WorkingHeartbeat = 2 * time.Second  // at most between two heartbeats of one that works
	WaitingHeartbeat = 10 * time.Second // of one that only waits for its next poll
)

// ErrWorkerStopping is the cause of a context that ended since the worker stops.
var ErrWorkerStopping = errors.New("worker stopping")

// KeepAlive heartbeats with what checkpoint returns, every interval, until the returned function is called, which returns when the last
// heartbeat has been recorded. The context it returns ends when the activity is
// cancelled, paused or timed out, and when its worker begins to stop; Interrupted
// tells which. The heartbeats go on then: what the activity finishes may take
// longer than its heartbeat timeout. Heartbeats are billed: work that is done within an
// interval has none. checkpoint is called from another goroutine;
// with nil the heartbeats have no details.
func KeepAlive(ctx context.Context, every time.Duration, checkpoint func() any) (context.Context, func()) {
	return KeepBeating(ctx, every, nil, false, func(ctx context.Context) error {
		if checkpoint == nil {
			activity.RecordHeartbeat(ctx)
			return nil
		}
		activity.RecordHeartbeat(ctx, checkpoint())
		return nil // the SDK ends the activity's context when the server's answer ends the activity
	})
}

// KeepBeating calls beat an interval after it was called last, whenever prompt says
// so, and first of all where atOnce does, until the returned function is called or
// the attempt is none any more. The context it returns ends with ctx, with an error
// of beat, and when the worker begins to stop, and has that as its cause; beat goes
// on then, with a context that does not end. A heartbeat timeout holds three intervals,
// however short it is.
func KeepBeating(ctx context.Context, every time.Duration, prompt <-chan struct{}, atOnce bool, beat func(context.Context) error) (context.Context, func()) {
	every = WithinTimeout(ctx, every)
	alive, cancel := context.WithCancelCause(ctx)
	steady := context.WithoutCancel(ctx)
	stopping, ended := activity.GetWorkerStopChannel(ctx), ctx.Done()
	done := make(chan struct{})
	var beating sync.WaitGroup
	beating.Go(func() {
		next := time.NewTimer(betweenBeats(every))
		defer next.Stop()
		due := atOnce
		for {
			if due {
				err := beat(steady)
				if err != nil {
					cancel(err)
				}
				if IsNotFound(err) { // nobody waits for its heartbeats any more
					return
				}
			}
			due = false
			select {
			case <-next.C:
				due = true
			case <-prompt:
				due = true
			case <-stopping:
				stopping = nil
				cancel(ErrWorkerStopping)
			case <-ended:
				ended = nil
				cancel(context.Cause(ctx))
			case <-done:
				return
			}
			if due {
				// From the beginning of a heartbeat to that of the next, however
				// long the server takes to answer.
				next.Reset(betweenBeats(every))
			}
		}
	})
	return alive, sync.OnceFunc(func() {
		close(done)
		beating.Wait()
		cancel(nil)
	})
}

// WithinTimeout is the time between two heartbeats of an activity, shortened to a third
// of its heartbeat timeout.
func WithinTimeout(ctx context.Context, every time.Duration) time.Duration {
	if third := activity.GetInfo(ctx).HeartbeatTimeout / 3; third > 0 {
		return min(every, third)
	}
	return every
}

// EndingAnswer is the answer to a heartbeat of the client as KeepBeating wants it: nil
// unless it ends the attempt.
func EndingAnswer(err error) error {
	if EndsAttempt(err) {
		return err
	}
	return nil
}

// EndsAttempt reports that the server's answer to a heartbeat of the client ends the
// attempt: it is to stop, or is none any more. Any other error is the network's.
func EndsAttempt(err error) bool {
	var canceled *temporal.CanceledError
	return errors.As(err, &canceled) || IsNotFound(err) || errors.Is(err, activity.ErrActivityPaused) || errors.Is(err, activity.ErrActivityReset)
}

// Interrupted tells why a context of KeepAlive ended, as the error with which
// the activity is to end, carrying its checkpoint (nil for none): WorkerStopping,
// Temporal's CanceledError, or the context's own error. It returns nil while the
// context goes on.
func Interrupted(ctx context.Context, operation string, checkpoint any) error {
	if ctx.Err() == nil {
		return nil
	}
	return EndedBy(context.Cause(ctx), operation, checkpoint)
}

// EndedBy is the error with which an activity ends for this cause.
func EndedBy(cause error, operation string, checkpoint any) error {
	switch {
	case errors.Is(cause, ErrWorkerStopping):
		return Fail(TypeWorkerStopping, Failure{
			ErrorDetails: ErrorDetails{Operation: operation},
			Message:      "the worker is stopping",
			Checkpoint:   checkpoint,
		})
	case errors.Is(cause, activity.ErrActivityPaused), errors.Is(cause, activity.ErrActivityReset):
		// The server looks at "non-retryable" before "paused", so a paused
		// attempt has to end with something that can be repeated.
		return Fail(TypeUnavailable, Failure{
			ErrorDetails: ErrorDetails{Operation: operation},
			Message:      cause.Error(),
			Checkpoint:   checkpoint,
		})
	case errors.Is(cause, context.DeadlineExceeded):
		return cause
	case checkpoint != nil:
		return temporal.NewCanceledError(checkpoint)
	default:
		return temporal.NewCanceledError()
	}
}

// WorkerIsStopping says that a context of KeepAlive ended since the worker stops.
func WorkerIsStopping(ctx context.Context) bool {
	return errors.Is(context.Cause(ctx), ErrWorkerStopping)
}

// OrInterrupted prefers the reason why the context ended over the error it caused.
func OrInterrupted(ctx context.Context, operation string, err error) error {
	if interrupted := Interrupted(ctx, operation, nil); interrupted != nil {
		return interrupted
	}
	return err
}

// HeartbeatRecorder is the method of a Temporal client that records a heartbeat
// and tells whether it was.
type HeartbeatRecorder interface {
	RecordActivityHeartbeat(ctx context.Context, taskToken []byte, details ...any) error
}

// BeatEvery is the heartbeat interval of Watch: a watch that polls often hears of a
// cancellation as often, and is missed as soon.
func BeatEvery(rule quiescence.Rule) time.Duration {
	return min(max(rule.Delay.After(0), time.Second), WaitingHeartbeat)
}

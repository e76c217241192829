package activities

import (
	"context"
	"time"

	"go.temporal.io/sdk/activity"
)

// Notify wakes the reader of c, now or next: one wake-up that waits is enough.
func Notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Sleep waits interruptibly.
func Sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Activities that only wait are timed by the process: what a thousand of them do
// falls on the same instants, for many at a time, where the worker would else be
// woken for each. The instants count from the start of the process, so that they
// are other ones in every worker.
const (
	beatPulse = time.Second            // of heartbeats
	pollPulse = 500 * time.Millisecond // of polls, a sixtieth of the default delay

	// longWait is a wait from which a pulse more is no matter.
	longWait = 20 * time.Second
)

var epoch = time.Now() //nolint:gochecknoglobals // a constant of the process

// betweenBeats is the time until the next heartbeat: at most every, and where that
// is long, up to a pulse less.
func betweenBeats(every time.Duration) time.Duration {
	if every < WaitingHeartbeat {
		return every
	}
	return every - into(beatPulse, time.Since(epoch)+every)
}

// AlignWait lengthens a long wait to the next pulse.
func AlignWait(wait time.Duration) time.Duration {
	if wait < longWait {
		return wait
	}
	return wait + into(pollPulse, -time.Since(epoch)-wait)
}

// into is how far an instant is into its pulse, on either side of the epoch.
func into(pulse, at time.Duration) time.Duration {
	return (at%pulse + pulse) % pulse
}

// ServerClock is the time as Temporal's server has it, from the beginning of the
// activity of ctx. Instants that one attempt hands to the next, or a worker to others,
// are of this clock: those of two machines differ, by minutes where one is not set.
func ServerClock(ctx context.Context) func() time.Time {
	began, started := time.Now(), activity.GetInfo(ctx).StartedTime
	if started.IsZero() {
		started = began
	}
	return func() time.Time { return started.Add(time.Since(began)).UTC() }
}

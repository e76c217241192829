package claiming

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

func idlePoller() *poller {
	return &poller{books: testLedger(wire.PollCarry{}, time.Now()), inbox: testInbox(&place{queue: newShelf()}), pace: taskclaim.Pace{Interval: time.Second, Max: time.Minute}}
}

// Queues are asked at once while they have messages, ever less often while they have
// none, and not sooner because the loop looks around meanwhile.
func TestIdleQueuesArePolledEverLessOften(t *testing.T) {
	p := idlePoller()
	last := time.Duration(0)
	for range 30 {
		p.pause(sweepResult{})
		wait := time.Until(p.nextSweep)
		require.LessOrEqual(t, wait, time.Minute)
		last = max(last, wait)
	}
	require.Greater(t, last, 20*time.Second)
	require.Zero(t, p.pause(sweepResult{found: 1, decided: 1}))
	require.LessOrEqual(t, time.Until(p.nextSweep), time.Duration(0))
}

// While nobody decides polling backs off, though there are messages; one decision ends
// that. Settings that are refused are tried by one message every five minutes.
func TestPollingBacksOffWhileNobodyDecides(t *testing.T) {
	p := idlePoller()
	for range 6 {
		p.pause(sweepResult{found: 3, undecided: 3})
	}
	require.Greater(t, time.Until(p.nextSweep), 4*time.Second)
	p.pause(sweepResult{found: 3, undecided: 2, decided: 1})
	require.LessOrEqual(t, time.Until(p.nextSweep), time.Duration(0))
	require.Zero(t, p.failures)
	p.pause(sweepResult{found: 1, undecided: 1, refused: true})
	require.Greater(t, time.Until(p.nextSweep), refusedRest-time.Minute)
	require.True(t, p.refused)
	p.pause(sweepResult{found: 1, decided: 1})
	require.False(t, p.refused)
}

// A claimer that is full looks again soon, then less often; one that is drained or
// stopped polls no more.
func TestFullOrDrainedClaimerDoesNotPoll(t *testing.T) {
	p := idlePoller()
	full := wire.ClaimControl{State: wire.ClaimOpen, Capacity: 2, Running: 2}
	require.Equal(t, fullWait, p.step(t.Context(), full))
	for range 20 {
		p.step(t.Context(), full)
	}
	require.Equal(t, fullWaitMax, p.step(t.Context(), full))
	require.Equal(t, controlEvery/4, p.step(t.Context(), wire.ClaimControl{State: wire.ClaimDraining, Capacity: 2}))
	require.Zero(t, p.empty, "no sweep was made")
}

// A few free slots are gathered for a moment, many are used at once.
func TestFreeSlotsAreGathered(t *testing.T) {
	p := idlePoller()
	now := time.Now()
	require.True(t, p.gathering(now, 1, 100))
	require.True(t, p.gathering(now.Add(gather/2), 2, 100))
	require.False(t, p.gathering(now.Add(gather), 2, 100))
	require.False(t, idlePoller().gathering(now, 8, 100))
	require.False(t, idlePoller().gathering(now, 1, 3), "with few slots each one counts")
}

package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever the instant: heartbeats are never further apart than asked, long waits
// never end early, and what is long ends on a pulse.
func TestPulse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wait := time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "wait"))
		beat, poll := betweenBeats(wait), AlignWait(wait)
		require.LessOrEqual(t, beat, wait)
		require.Greater(t, beat, wait-beatPulse)
		if wait < WaitingHeartbeat {
			require.Equal(t, wait, beat)
		}
		require.GreaterOrEqual(t, poll, wait)
		require.Less(t, poll, wait+pollPulse)
		if wait < longWait {
			require.Equal(t, wait, poll)
		}
	})
}

func TestIntoIsTheDistanceFromThePulseBefore(t *testing.T) {
	for at, want := range map[time.Duration]time.Duration{0: 0, 300: 50, 250: 0, -1: 249, -250: 0, -300: 200} {
		require.Equal(t, want, into(250, at), at)
	}
}

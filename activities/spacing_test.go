package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Heartbeats are rare only after ten minutes in which nothing happened, and a lost
// worker is missed after three of them.
func TestHeartbeatsAreRareOnceNothingHappens(t *testing.T) {
	require.Equal(t, 10*time.Second, Calm{}.Beats(0))
	require.Equal(t, 10*time.Second, Calm{}.Beats(10*time.Minute-1))
	require.Equal(t, time.Minute, Calm{}.Beats(10*time.Minute))
	require.Equal(t, 2*time.Minute, Calm{After: time.Minute, Spacing: 2 * time.Minute}.Beats(time.Minute))
	require.Equal(t, 10*time.Second, Calm{Spacing: 5 * time.Second}.Beats(time.Hour), "never more often than while things happen")
	require.Equal(t, 30*time.Second, SpacedTimeout(0))
	require.Equal(t, 3*time.Minute, SpacedTimeout(time.Minute))
}

package activities

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Heartbeats are rare only after ten minutes in which nothing happened, and a lost
// worker is missed after three of them.
func TestHeartbeatsAreRareOnceNothingHappens(t *testing.T) {
	require.Equal(t, 10*time.Second, Spacing(0, time.Minute))
	require.Equal(t, 10*time.Second, Spacing(10*time.Minute-1, time.Minute))
	require.Equal(t, time.Minute, Spacing(10*time.Minute, time.Minute))
	require.Equal(t, 10*time.Second, Spacing(time.Hour, 5*time.Second), "never more often than while things happen")
	require.Equal(t, 30*time.Second, SpacedTimeout(0))
	require.Equal(t, 3*time.Minute, SpacedTimeout(time.Minute))
}

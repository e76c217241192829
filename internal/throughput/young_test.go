package throughput

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An owner expects as many workers more as came in the last second for what is left of
// its first ten, since a fleet begins.
func TestAnOwnerThatBeginsExpectsWorkersForTenSeconds(t *testing.T) {
	came := Arrivals{At: start.Truncate(time.Second), Now: 100}
	require.EqualValues(t, 1000, came.coming(start, start))
	require.EqualValues(t, 800, came.coming(start, start.Add(-2*time.Second)))
	require.EqualValues(t, 600, came.coming(start, start.Add(-4*time.Second)))
	require.Equal(t, came.coming(start, start.Add(-10*time.Second)), came.coming(start, start.Add(-time.Hour)), "and then for as long as ever")
}

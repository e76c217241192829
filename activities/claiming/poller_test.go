package claiming

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The back-off of a queue or a service in trouble grows, is spread, gives it its
// rest, and never exceeds half a minute.
func TestCaseA13BackOffIsAtMostHalfAMinute(t *testing.T) {
	for n := 1; n <= 1000; n++ {
		ceiling := min(failureCap, time.Second<<min(n-1, 10))
		for range 20 {
			d := retryDelay(n)
			require.LessOrEqual(t, d, failureCap, "after %d failures", n)
			require.GreaterOrEqual(t, d, ceiling/4, "after %d failures", n)
		}
	}
}

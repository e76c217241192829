package ingestion

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestSplitIsTheTwinOfID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := rapid.StringMatching(`[a-z0-9-]{1,36}`).Draw(t, "run")
		object := rapid.StringN(1, 40, 80).Draw(t, "object")
		n := rapid.Int64Min(0).Draw(t, "n")
		gotObject, gotN, ok := Split(run, ID(run, object, n))
		require.True(t, ok)
		require.Equal(t, object, gotObject)
		require.Equal(t, n, gotN)
	})
}

func TestSplitRefusesWhatIsNotOfTheRun(t *testing.T) {
	for _, id := range []string{"", "run", "run/", "run/b/k", "run/b/k#", "run/b/k#x", "run/b/k#-1", "other/b/k#1", "runs/b/k#1"} {
		_, _, ok := Split("run", id)
		require.False(t, ok, id)
	}
}

// TestTallyAgreesWithASet compares the bits with a plain map.
func TestTallyAgreesWithASet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expected := rapid.Int64Range(0, 200).Draw(t, "expected")
		deliveries := rapid.SliceOf(rapid.Int64Range(-3, 210)).Draw(t, "deliveries")
		tally, open := NewTally(expected), NewOpenTally(expected)
		seen := map[int64]bool{}
		var unexpected, duplicated int64
		for _, n := range deliveries {
			tally.Deliver(n)
			open.Deliver(n)
			switch {
			case n < 0 || n >= expected:
				unexpected++
			case seen[n]:
				duplicated++
			default:
				seen[n] = true
			}
		}
		require.Equal(t, int64(len(seen)), tally.Delivered())
		require.Equal(t, expected-int64(len(seen)), tally.Missing())
		require.Equal(t, duplicated, tally.Duplicated())
		require.Equal(t, unexpected, tally.Unexpected)
		missing := tally.FirstMissing(5)
		require.Len(t, missing, int(min(5, tally.Missing())))
		for _, n := range missing {
			require.False(t, seen[n])
		}
		// Of an object whose end nobody could read one more is missing, whatever came.
		require.Equal(t, open.Expected(), open.Delivered()+open.Missing())
		require.Equal(t, tally.Missing()+1, open.Missing())
		require.GreaterOrEqual(t, open.Delivered(), tally.Delivered())
		require.LessOrEqual(t, open.Unexpected, tally.Unexpected)
	})
}

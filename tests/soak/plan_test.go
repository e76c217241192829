package soak

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlanIsTheSameForASeed(t *testing.T) {
	s := Sizes{Workers: 3, Kills: 10, Servers: 2}
	require.Equal(t, Plan(7, s), Plan(7, s))
	require.NotEqual(t, Plan(7, s), Plan(8, s))
}

func TestPlanHasAllThatIsAskedFor(t *testing.T) {
	for seed := range uint64(200) {
		s := Sizes{Workers: 3, Kills: 1 + int(seed), Servers: int(seed) / 10}
		faults := Plan(seed, s)
		require.Equal(t, s.Kills, Count(faults, Kill))
		require.Equal(t, s.Servers, Count(faults, KillServer))
		require.Positive(t, Count(faults, Terminate))
		require.Positive(t, Count(faults, Freeze))
		for _, kind := range services {
			require.Positive(t, Count(faults, kind), "seed %d, %s", seed, kind)
		}
		require.True(t, slices.IsSortedFunc(faults, func(a, b Fault) int { return int(a.At - b.At) }))
		for _, f := range faults {
			require.Less(t, f.At, s.Length())
			require.Less(t, f.Worker, s.Workers)
			if f.Kind == Freeze {
				require.Positive(t, f.For, "a worker that is stopped goes on")
			}
		}
	}
}

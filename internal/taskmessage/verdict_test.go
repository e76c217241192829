package taskmessage_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/taskmessage"
)

func TestCaseA17WarnAndPoisonAreTwoThresholds(t *testing.T) {
	limits := taskmessage.Limits{Warn: 10, Poison: 15}
	for count, want := range map[int64]taskmessage.Verdict{
		9: taskmessage.Take, 10: taskmessage.Warn, 14: taskmessage.Warn,
		15: taskmessage.Poison, 16: taskmessage.Poison,
	} {
		require.Equal(t, want, limits.Judge(count, 0), "delivery %d", count)
	}
}

func TestCaseA05CountsOnFirstSight(t *testing.T) {
	limits := taskmessage.Limits{Warn: 5, Poison: 5}
	for count, want := range map[int64]taskmessage.Verdict{
		4: taskmessage.Take, 5: taskmessage.Poison, 6: taskmessage.Poison,
		15: taskmessage.Poison, math.MaxInt32: taskmessage.Poison,
	} {
		require.Equal(t, want, limits.Judge(count, 0), "delivery %d", count)
	}
}

func TestExcusedDeliveriesDoNotCount(t *testing.T) {
	limits := taskmessage.Limits{Warn: 3, Poison: 5}
	require.Equal(t, taskmessage.Take, limits.Judge(20, 18))
	require.Equal(t, taskmessage.Warn, limits.Judge(20, 17))
	require.Equal(t, taskmessage.Poison, limits.Judge(20, 15))
	require.Equal(t, "delivered 20 times, 15 of them excused; the limit is 5", limits.TooOften(20, 15))
}

// A message that says of itself that more deliveries are excused than there were
// is poison in the end, as any other that fails each time.
func TestExcusedBeyondTheDeliveriesExcusesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := taskmessage.Limits{Warn: 5, Poison: rapid.Int64Range(1, 50).Draw(t, "poison")}
		m := taskmessage.Message{Excused: rapid.SampledFrom([]int64{0, 1, 14, 15, 16, 1 << 20, math.MaxInt32}).Draw(t, "excused")}
		require.Less(t, m.ExcusedOf(1), int64(1))
		deliveries := int64(1)
		for limits.Judge(deliveries, m.ExcusedOf(deliveries)) != taskmessage.Poison {
			deliveries++
			require.LessOrEqual(t, deliveries, limits.Poison+16, "never poison")
		}
	})
	require.EqualValues(t, 3, taskmessage.Message{Excused: 3}.ExcusedOf(4), "all before this one")
}

// Whatever a message says of itself, this delivery counts, and more deliveries
// never make it less poisonous.
func TestJudgeIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := taskmessage.Limits{
			Warn:   rapid.Int64Range(1, 100).Draw(t, "warn"),
			Poison: rapid.Int64Range(1, 100).Draw(t, "poison"),
		}
		count := rapid.Int64Range(1, 1<<40).Draw(t, "count")
		excused := rapid.Int64Range(-5, 1<<40).Draw(t, "excused")
		require.LessOrEqual(t, limits.Judge(count, excused), limits.Judge(count+1, excused))
		require.GreaterOrEqual(t, limits.Judge(count, excused), limits.Judge(count, excused+1))
		require.GreaterOrEqual(t, taskmessage.Counted(count, excused), int64(1))
	})
}

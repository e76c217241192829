package throughput

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(d time.Duration) time.Time { return start.Add(d) }

// sendAll counts the calls of one unit that go out at once.
func sendAll(b *Budget, now time.Time) (n int) {
	for b.Ready(now) {
		b.Charge(now, Unit)
		n++
	}
	return n
}

// The vectors of the original (A-U4): a burst of a second, and one call more than
// it holds.
func TestBudgetKeepsTheOriginalsPace(t *testing.T) {
	for _, c := range []struct {
		rate, first, wait, then int
	}{
		{10, 11, 200, 2},
		{1, 2, 2000, 2},
		{100, 101, 20, 2},
	} {
		b := NewBudget(start, time.Second)
		b.SetRate(start, Milli(c.rate)*Unit)
		idle := at(time.Hour)
		require.Equal(t, c.first, sendAll(b, idle))
		require.Equal(t, time.Duration(1000/c.rate)*time.Millisecond, b.Wait(idle, 0))
		require.Equal(t, c.then, sendAll(b, idle.Add(time.Duration(c.wait)*time.Millisecond)))
	}
}

func TestBudgetOwesInFull(t *testing.T) {
	b := NewBudget(start, time.Second)
	b.SetRate(start, 8*Unit)
	b.Charge(start, 40*Unit)
	require.Equal(t, 5*time.Second, b.Wait(start, 0))
	require.False(t, b.Ready(at(4999*time.Millisecond)))
	require.True(t, b.Ready(at(5*time.Second)))
	b.Charge(at(5*time.Second), -1000*Unit)
	require.Equal(t, 8*Unit, b.Level(at(5*time.Second)), "what is paid back is bounded by the burst")
}

// Whoever paused or took the share away, what was consumed is paid by time.
func TestADebtIsPaidByTimeAlsoWithoutIncome(t *testing.T) {
	b := NewBudget(start, time.Second)
	b.SetRate(start, 5*Unit)
	b.Charge(start, 381*Unit)
	b.SetRate(at(10*time.Second), 0)
	require.Equal(t, -331*Unit, b.Level(at(10*time.Second)))
	require.Equal(t, -131*Unit, b.Level(at(50*time.Second)))
	require.Zero(t, b.Level(at(time.Hour)), "and nothing is saved up")
	require.False(t, b.Ready(at(time.Hour)))
	b.SetRate(at(time.Hour), 1*Unit)
	require.True(t, b.Ready(at(time.Hour)))
}

func TestBudgetWithoutIncomeOrLimit(t *testing.T) {
	b := NewBudget(start, time.Second)
	require.False(t, b.Ready(at(time.Hour)))
	require.Equal(t, MaxWait, b.Wait(at(time.Hour), 0))
	b.Charge(at(time.Hour), 5*Unit)
	b.SetUnlimited(at(time.Hour))
	require.True(t, b.Ready(at(time.Hour)))
	require.Zero(t, b.Wait(at(time.Hour), 1000*Unit))
	b.SetRate(at(time.Hour), 1)
	require.Equal(t, MaxWait, b.Wait(at(time.Hour), Milli(maxUnits)*Unit))
	require.True(t, b.Ready(at(time.Hour-time.Minute)), "a clock that went back")
}

// Whatever is sent and however often one looks, what went out never exceeds what
// came in by more than the burst and one call.
func TestBudgetNeverGivesMoreThanCameIn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Milli(rapid.Int64Range(1, 5_000_000).Draw(t, "rate"))
		burst := time.Duration(rapid.Int64Range(0, int64(2*time.Second)).Draw(t, "burst"))
		b := NewBudget(start, burst)
		b.SetRate(start, rate)
		now, sent, largest := start, Milli(0), Milli(0)
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "passed")))
			cost := Milli(rapid.Int64Range(1, 2_000_000).Draw(t, "cost"))
			if wait := b.Wait(now, 0); wait < MaxWait && wait > 0 {
				require.False(t, b.Ready(now))
				require.True(t, b.Ready(now.Add(wait)), "ready when the wait is over")
				now = now.Add(wait)
			}
			if b.Ready(now) {
				b.Charge(now, cost)
				sent, largest = sent+cost, max(largest, cost)
			}
			came := Milli(float64(rate) * (now.Sub(start) + burst).Seconds())
			require.LessOrEqual(t, sent, came+largest+1)
		}
	})
}

func TestUnits(t *testing.T) {
	require.Equal(t, Milli(500), Units(0.5))
	require.Equal(t, Milli(1), Units(0.0001), "rounded up")
	require.Equal(t, Milli(3000), Units(3))
	require.Zero(t, Units(-1))
	require.Equal(t, "0.5", Milli(500).String())
	var m Milli
	require.NoError(t, m.UnmarshalJSON([]byte("0.98")))
	require.Equal(t, Milli(980), m)
	for _, bad := range []string{`"1"`, `-1`, `1e13`, `null x`} {
		require.Error(t, m.UnmarshalJSON([]byte(bad)), bad)
	}
}

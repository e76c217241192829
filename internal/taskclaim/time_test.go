package taskclaim_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/taskclaim"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func lease(d time.Duration) taskclaim.Lease {
	return taskclaim.Lease{TakenAt: noon, TakenUntil: noon.Add(d)}
}

func TestReclaimAt(t *testing.T) {
	for _, c := range []struct {
		claim, before, want time.Duration
	}{
		{20 * time.Minute, 3 * time.Minute, 17 * time.Minute},
		{20 * time.Minute, 15 * time.Minute, 10 * time.Minute}, // not before half
		{4 * time.Minute, 3 * time.Minute, 2 * time.Minute},
		{20 * time.Minute, 0, 14*time.Minute + 45*time.Second}, // half-way from half to the stop at 19m30s
		{20 * time.Minute, 30 * time.Second, 14*time.Minute + 45*time.Second},
	} {
		require.Equal(t, noon.Add(c.want), lease(c.claim).ReclaimAt(c.before, 0), "%+v", c)
	}
}

func TestStopAt(t *testing.T) {
	require.Equal(t, noon.Add(20*time.Minute-30*time.Second), lease(20*time.Minute).StopAt())
	require.Equal(t, noon.Add(90*time.Second), lease(2*time.Minute).StopAt())
	require.Equal(t, noon.Add(45*time.Second), lease(time.Minute).StopAt())
	require.Equal(t, noon.Add(30*time.Second), lease(40*time.Second).StopAt(), "a claim this short still gets most of its time")
}

// However the claims are: renewal is due in the second half and, where the
// margin allows, before the work must stop.
func TestLeaseTimesAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := lease(time.Duration(rapid.Int64Range(int64(time.Second), int64(24*time.Hour)).Draw(t, "claim")))
		before := time.Duration(rapid.Int64Range(int64(31*time.Second), int64(time.Hour)).Draw(t, "before"))
		at := l.ReclaimAt(before, rapid.Float64Range(0, 0.999).Draw(t, "random"))
		half := l.TakenAt.Add(l.TakenUntil.Sub(l.TakenAt) / 2)
		require.False(t, at.Before(half), "reclaims in the first half")
		require.False(t, at.After(l.StopAt()), "reclaims after the work must stop")
		require.True(t, l.StopAt().Before(l.TakenUntil))
	})
}

// The local end of a lease is never after the true one, whatever the skew, the
// way of the answer, and the header's rounding to whole seconds.
func TestLocalLeaseNeverOutlivesTheServices(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sent := noon
		toService := time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "to"))
		back := time.Duration(rapid.Int64Range(0, int64(10*time.Second)).Draw(t, "back"))
		skew := time.Duration(rapid.Int64Range(-int64(time.Hour), int64(time.Hour)).Draw(t, "skew"))
		serviceNow := sent.Add(toService).Add(skew)
		takenUntil := serviceNow.Add(20 * time.Minute)
		got := taskclaim.Local(takenUntil, serviceNow.Truncate(time.Second), sent, sent.Add(toService+back))
		truth := takenUntil.Add(-skew)
		require.False(t, got.TakenUntil.After(truth))
		require.Less(t, truth.Sub(got.TakenUntil), toService+2*time.Second)
	})
}

// A service that answers renewals without extending the claim, or by next to
// nothing, is asked a few times more, and the work stops as long before the end as
// it would have without: not nanoseconds before it.
func TestRenewalsThatExtendNothingDoNotShrinkTheMargin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		claim := time.Duration(rapid.Int64Range(int64(4*time.Second), int64(time.Hour)).Draw(t, "claim"))
		before := time.Duration(rapid.Int64Range(0, int64(10*time.Minute)).Draw(t, "before"))
		extends := rapid.SampledFrom([]time.Duration{-time.Hour, -1, 0, 1, time.Millisecond}).Draw(t, "extends")
		l := lease(claim)
		margin := min(taskclaim.Margin, claim/4)
		var now time.Time
		asked := 0
		for {
			now = l.ReclaimAt(before, 0)
			if !now.Before(l.StopAt()) {
				break
			}
			l = l.Renew(taskclaim.Lease{TakenAt: now, TakenUntil: l.TakenUntil.Add(extends)})
			asked++
			require.LessOrEqual(t, asked, 64, "it is asked for ever")
		}
		require.InDelta(t, margin, l.TakenUntil.Sub(now), 8)
		require.False(t, l.TakenUntil.Before(noon.Add(claim)))
	})
}

// One renewal that extended nothing does not hold back those that do.
func TestRenewalAfterOneThatExtendedNothing(t *testing.T) {
	l := lease(20 * time.Minute)
	at := noon.Add(17 * time.Minute)
	l = l.Renew(taskclaim.Lease{TakenAt: at, TakenUntil: l.TakenUntil})
	l = l.Renew(taskclaim.Lease{TakenAt: at, TakenUntil: at.Add(20 * time.Minute)})
	require.Equal(t, at.Add(20*time.Minute-taskclaim.Margin), l.StopAt())
	require.Equal(t, at.Add(17*time.Minute), l.ReclaimAt(3*time.Minute, 0))
}

func TestLeaseNeverMovesBack(t *testing.T) {
	l := lease(20 * time.Minute)
	require.Equal(t, l.TakenUntil, l.Renew(lease(10*time.Minute)).TakenUntil)
	require.Equal(t, noon.Add(time.Hour), l.Renew(lease(time.Hour)).TakenUntil)
}

func TestPace(t *testing.T) {
	p := taskclaim.Pace{Interval: 5 * time.Second, Max: time.Minute}
	require.Zero(t, p.Wait(0, 0.5))
	require.Equal(t, 5*time.Second, p.Wait(1, 0))
	require.Equal(t, 7500*time.Millisecond, p.Wait(2, 0))
	require.Equal(t, time.Minute, p.Wait(50, 0))
	require.Equal(t, 54*time.Second, p.Wait(50, 0.5))
	require.Positive(t, taskclaim.Pace{}.Wait(1, 0.99), "interval 0 does not spin")
}

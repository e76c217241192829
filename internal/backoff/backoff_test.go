package backoff

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCeiling(t *testing.T) {
	p := Policy{Base: 50 * time.Millisecond, Cap: 10 * time.Second}
	for n, want := range map[int]time.Duration{
		0: 50 * time.Millisecond, 1: 50 * time.Millisecond, 2: 100 * time.Millisecond,
		8: 6400 * time.Millisecond, 9: 10 * time.Second, 1 << 30: 10 * time.Second,
	} {
		require.Equal(t, want, p.Ceiling(n), n)
	}
	require.Zero(t, Policy{}.Ceiling(5))
}

func TestDelayStaysBelowCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := Policy{
			Base: time.Duration(rapid.Int64Range(1, int64(time.Hour)).Draw(t, "base")),
			Cap:  time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "cap")),
		}
		n := rapid.IntRange(0, 1000).Draw(t, "n")
		d := p.Delay(n, rapid.Float64Range(0, 0.999999).Draw(t, "random"))
		require.GreaterOrEqual(t, d, time.Duration(0))
		require.LessOrEqual(t, d, p.Cap)
	})
}

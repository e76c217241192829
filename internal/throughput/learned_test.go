package throughput

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// onDemand is a ceiling of which nothing is known.
func onDemand() *Ceiling {
	var c Ceiling
	c.Rebase(start, 0)
	return &c
}

func TestAThrottleOnAnOnDemandTableCostsSeconds(t *testing.T) {
	c := onDemand()
	require.Equal(t, -1.0, inForce(c, start))
	c.Throttled(start, Refusal{Calls: 1, Consumed: 5 * Unit, Fastest: 5 * Unit, Lately: 170 * Unit})
	require.Equal(t, 170.0, inForce(c, start), "it begins from the highest rate seen lately")
	c.Rebase(at(time.Second), 0)
	require.Equal(t, 170.0, inForce(c, at(time.Second)), "the look-up does not unlearn it")
	require.Equal(t, 340.0, inForce(c, at(2*time.Second)), "it doubles with every second without a throttle")
	require.Equal(t, 680.0, inForce(c, at(3*time.Second)))
	require.Equal(t, -1.0, inForce(c, at(4*time.Second)), "and is forgotten")
}

func TestAFurtherThrottleFindsTheLimit(t *testing.T) {
	c := onDemand()
	c.Throttled(start, Refusal{Calls: 3, Fastest: 60 * Unit})
	c.Throttled(at(2*time.Second), Refusal{Calls: 50, Fastest: 100 * Unit})
	require.Equal(t, 90.0, inForce(c, at(2*time.Second)), "nine tenths of what went through")
	require.Equal(t, 90.0, inForce(c, at(4*time.Second-1)), "it stays longer")
	require.Equal(t, 180.0, inForce(c, at(5*time.Second)))
	c.Throttled(at(6*time.Second), Refusal{Calls: 50, Fastest: 30 * Unit})
	require.Equal(t, 252.0, inForce(c, at(6*time.Second)), "three tenths in a second at most: 360 before")
}

// Where the service refuses everything there is no limit to be learned: when it is
// over, calls are back within seconds.
func TestAnOutageOfThrottlesLeavesNoCeilingBehind(t *testing.T) {
	c := onDemand()
	for s := range 20 {
		c.Throttled(at(time.Duration(s)*time.Second), Refusal{Calls: 20, Fastest: 0, Lately: 100 * Unit})
	}
	require.Less(t, inForce(c, at(19*time.Second)), 2.0)
	sum := 0.0
	for s := 20; s < 40; s++ {
		got := inForce(c, at(time.Duration(s)*time.Second))
		if got < 0 {
			require.LessOrEqual(t, s, 25)
			return
		}
		sum += got
	}
	t.Fatal("still a ceiling 20 s later")
}

// A table that takes a fixed rate is kept busy, and seldom asked for more.
func TestALearnedCeilingSettlesAtWhatTheTableTakes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		takes := Milli(rapid.Int64Range(5, 5000).Draw(t, "takes")) * Unit
		wants := takes * Milli(rapid.Int64Range(2, 20).Draw(t, "times"))
		c := onDemand()
		var through, refusedUnits Milli
		for s := range 300 {
			now := at(time.Duration(s) * time.Second)
			allowed := wants
			if ceiling, limited := c.In(now); limited {
				allowed = min(wants, ceiling)
			}
			went := min(allowed, takes)
			if s >= 60 { // it has found the limit
				through += went
				refusedUnits += allowed - went
			}
			c.Throttled(now, Refusal{Calls: int((allowed - went + Unit - 1) / Unit), Consumed: went, Fastest: went, Lately: takes})
		}
		require.Greater(t, through, 240*takes*85/100, "most of what it takes is used")
		require.Less(t, refusedUnits, through/4, "and few are refused")
	})
}

func TestALearnedCeilingIsNeverZero(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c, now := onDemand(), start
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(20*time.Second)).Draw(t, "passed")))
			c.Throttled(now, Refusal{
				Calls:    rapid.IntRange(0, 50).Draw(t, "calls"),
				Consumed: Milli(rapid.Int64Range(0, 1e6).Draw(t, "consumed")),
				Fastest:  Milli(rapid.Int64Range(0, 1e6).Draw(t, "fastest")),
				Lately:   Milli(rapid.Int64Range(0, 1e6).Draw(t, "lately")),
			})
			got, limited := c.In(now)
			require.Equal(t, limited, got > 0)
			require.True(t, !limited || got >= Unit)
		}
	})
}

package throughput

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func inForce(c *Ceiling, now time.Time) float64 {
	ceiling, limited := c.In(now)
	if !limited {
		return -1
	}
	return ceiling.Float()
}

// refused is what the fleet tells of calls that were throttled.
func refused(calls int, consumed Milli) Refusal { return Refusal{Calls: calls, Consumed: consumed} }

func TestCeilingSinksWithThrottlesAndRisesWithTime(t *testing.T) {
	var c Ceiling
	c.Rebase(start, 100*Unit)
	require.Equal(t, 100.0, inForce(&c, start))

	c.Throttled(start, refused(10, 90*Unit))
	require.Equal(t, 90.0, inForce(&c, start), "by the refused part")
	c.Throttled(at(500*time.Millisecond), refused(10, 90*Unit))
	require.Equal(t, 90.0, inForce(&c, at(500*time.Millisecond)), "once a second at most")
	c.Throttled(at(time.Second), refused(1000, 0))
	require.InDelta(t, 63.7, inForce(&c, at(time.Second)), 0.01, "by three tenths at most, after a second's rise")
	for i := range 60 {
		c.Throttled(at(time.Duration(2+i)*time.Second), refused(1000, 0))
	}
	require.Equal(t, 25.0, inForce(&c, at(61*time.Second)), "never below a quarter")

	require.Equal(t, 35.0, inForce(&c, at(71*time.Second)), "a hundredth a second, also when nobody asks")
	require.Equal(t, 100.0, inForce(&c, at(10*time.Minute)), "and exactly back")
}

func TestCeilingFollowsWhatIsProvisioned(t *testing.T) {
	var c Ceiling
	c.Rebase(start, 100*Unit)
	c.Throttled(start, refused(100, 100*Unit))
	require.Equal(t, 70.0, inForce(&c, start))
	c.Rebase(start, 200*Unit)
	require.Equal(t, 140.0, inForce(&c, start), "as far down as before")
	c.Rebase(start, 0)
	require.Equal(t, -1.0, inForce(&c, start), "on demand now")
}

func TestCeilingStaysInItsBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var c Ceiling
		base := Milli(rapid.Int64Range(1, 10_000_000).Draw(t, "base"))
		c.Rebase(start, base)
		now := start
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(5*time.Second)).Draw(t, "passed")))
			c.Throttled(now, refused(rapid.IntRange(0, 50).Draw(t, "calls"), Milli(rapid.Int64Range(0, 1_000_000).Draw(t, "consumed"))))
			got, limited := c.In(now)
			require.True(t, limited)
			require.LessOrEqual(t, got, base)
			require.GreaterOrEqual(t, got, max(base/floorPart, 1))
		}
		raw, err := json.Marshal(c)
		require.NoError(t, err)
		var carried Ceiling
		require.NoError(t, json.Unmarshal(raw, &carried))
		require.Equal(t, inForce(&c, now.Add(time.Minute)), inForce(&carried, now.Add(time.Minute)))
	})
}

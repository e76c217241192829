package quiescence

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/document"
	"sluice/internal/duration"
)

// The tables are those of the original observer at its base of thirty seconds,
// with the clamp at one second where it came to 0.
func TestDelayStrategies(t *testing.T) {
	for _, c := range []struct {
		strategy string
		want     []int // seconds after 0, 1, 2 … repeats
	}{
		{Constant, []int{30, 30, 30, 30, 30, 30}},
		{Inverse, []int{30, 30, 15, 10, 7, 6, 5, 4, 3, 3, 3, 2, 2, 2, 2, 2, 1, 1}},
		{Exponential, []int{30, 12, 5, 2, 1, 1, 1, 1}},
	} {
		delay := DefaultDelay()
		delay.Strategy = c.strategy
		for repeats, want := range c.want {
			require.Equalf(t, time.Duration(want)*time.Second, delay.After(repeats), "%s after %d", c.strategy, repeats)
		}
	}
}

func TestInverseNeverSpins(t *testing.T) {
	delay := DefaultDelay()
	delay.Strategy = Inverse
	for _, repeats := range []int{30, 31, 100, 1_000_000} {
		require.Equal(t, time.Second, delay.After(repeats))
	}
}

func TestDelayIsClamped(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seconds := rapid.Int64Range(1, 3600)
		low := seconds.Draw(t, "min")
		high := rapid.Int64Range(low, 7200).Draw(t, "max")
		delay := Delay{
			Strategy: rapid.SampledFrom([]string{Constant, Inverse, Exponential}).Draw(t, "strategy"),
			Base:     duration.Duration(time.Duration(seconds.Draw(t, "base")) * time.Second),
			Min:      duration.Duration(time.Duration(low) * time.Second),
			Max:      duration.Duration(time.Duration(high) * time.Second),
		}
		pause := delay.After(rapid.IntRange(0, 2_000_000).Draw(t, "repeats"))
		if pause < min(delay.Min.Std(), delay.Max.Std()) || pause > delay.Max.Std() {
			t.Fatalf("%v is outside of the clamp", pause)
		}
	})
}

// The falling strategies shorten the window: inverse's 30, 30, 15, 10, 7 and
// exponential's 30, 12, 5, 2, 1 seconds.
func TestWindow(t *testing.T) {
	for strategy, want := range map[string]time.Duration{
		Constant:    150 * time.Second,
		Inverse:     92 * time.Second,
		Exponential: 50 * time.Second,
	} {
		delay := DefaultDelay()
		delay.Strategy = strategy
		require.Equal(t, want, delay.Window(5), strategy)
	}
}

func TestDelayCheck(t *testing.T) {
	for raw, want := range map[string]string{
		`{"strategy":"linear"}`:               `delay.strategy: "linear" is none of`,
		`{"base":"1ms"}`:                      "delay.base: 1ms is below 100ms",
		`{"min":"0s"}`:                        "delay.min: 0s is below 100ms",
		`{"min":"10s","max":"5s"}`:            "delay.min: 10s is above the maximum of 5s",
		`{"base":"2s","min":"3s"}`:            "delay.min: 3s is above the maximum of 2s",
		`{"base":"200ms"}`:                    "",
		`{"strategy":"inverse","max":"2m"}`:   "",
		`{"strategy":"exponential","max":""}`: "",
	} {
		delay := DefaultDelay()
		require.NoError(t, json.Unmarshal([]byte(raw), &delay))
		var faults document.Faults
		delay.Check(&faults, "delay")
		if want == "" {
			require.NoError(t, faults.Err(), raw)
			continue
		}
		require.ErrorContains(t, faults.Err(), want, raw)
	}
}

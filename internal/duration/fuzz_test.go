package duration

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzText: what is taken as a length or a deadline is written in a form that reads the
// same.
func FuzzText(f *testing.F) {
	for _, text := range []string{"", "30s", "1h30m", "-1s", " 5m ", "1.5h", "9999999999h", "2026-01-02T15:04:05Z", "2026-01-02T15:04:05.123456789+02:00", "0000-01-01T00:00:00Z", "1d", "NaN", "µs", "1µs"} {
		f.Add(text)
	}
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string) {
		var length Duration
		if length.UnmarshalText([]byte(text)) == nil {
			raw, err := json.Marshal(length)
			require.NoError(t, err)
			var again Duration
			require.NoError(t, json.Unmarshal(raw, &again), "%s", raw)
			require.Equal(t, length, again)
		}
		var deadline Deadline
		if deadline.UnmarshalText([]byte(text)) == nil {
			raw, err := json.Marshal(deadline)
			require.NoError(t, err)
			var again Deadline
			require.NoError(t, json.Unmarshal(raw, &again), "%s", raw)
			require.True(t, deadline.Time(start).Equal(again.Time(start)), "%q is %s", text, raw)
		}
	})
}

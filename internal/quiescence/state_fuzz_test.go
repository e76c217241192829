package quiescence

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzState: whatever bytes a carried state has, a watch goes on from it and falls quiet
// once nothing changes any more.
func FuzzState(f *testing.F) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var s State
	for n := range 3 {
		text, err := json.Marshal(s)
		require.NoError(f, err)
		f.Add(text)
		s.Observe(rule(3), Reading{Version: "1", Count: 7, Present: true}, now.Add(time.Duration(n)*time.Minute), now.Add(time.Duration(n)*time.Minute))
	}
	f.Add([]byte(`{"repeats":-9223372036854775808,"polls":-1,"credit":"-5h","lastChangeAt":"0001-01-01T00:00:00Z","arrivals":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var s State
		if json.Unmarshal(text, &s) != nil {
			return
		}
		r := rule(3)
		s.Elapse(r, now)
		s.Observe(r, Reading{Version: "a version of now", Count: 7, Present: true}, now, now)
		quiet := false
		for n := 1; n < 20 && !quiet; n++ {
			at := now.Add(time.Duration(n) * 10 * time.Second)
			s.Observe(r, Reading{Version: "a version of now", Count: 7, Present: true}, at, at)
			quiet = s.Decide(r, at) == ReasonQuiet
			s.QuietAt(r)
			s.Wake(r)
		}
		require.True(t, quiet)
		_, err := json.Marshal(s)
		require.NoError(t, err)
	})
}

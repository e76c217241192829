package request

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/jobchain"
)

// TestJobTakesNoMoreOfAnAnswerThanIsReckoned: an answer that is too large for a
// payload would fail the task that gives it, again and again.
func TestJobTakesNoMoreOfAnAnswerThanIsReckoned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		at := time.Date(2026, 12, 31, 23, 59, 59, 999_999_999, time.UTC)
		text := rapid.OneOf(rapid.String(), rapid.StringMatching(`[<>&\x00-\x1f\x{2028}"\\]{0,200}`))
		j := Job{ID: rapid.StringMatching(`[a-z]{1,100}`).Draw(t, "id"), Name: text.Draw(t, "name"), TaskQueue: text.Draw(t, "queue"),
			State: jobchain.Suspended, Tries: 1 << 62, StartedAt: &at, FinishedAt: &at, Error: text.Draw(t, "error"),
			WaitsFor: rapid.SliceOfN(text, 0, 11).Draw(t, "waits for")}
		encoded, err := json.Marshal(j)
		require.NoError(t, err)
		require.LessOrEqual(t, len(encoded), j.bytes())
	})
}

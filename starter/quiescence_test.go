package main

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/workflows/quiescence"
)

// What a watch exits with: all that was to follow counts, of every generation.
func TestWatchesExitByTheirReasonAndWhatFollowed(t *testing.T) {
	for document, want := range map[string]string{
		`{"reason":"quiet"}`:   "",
		`{"reason":"stopped"}`: "ended: stopped",
		`{"reason":"quiet","then":[{"n":0,"generation":1,"done":true,"ok":true}]}`:                                                                          "",
		`{"reason":"quiet","generation":2,"then":[{"n":1,"generation":1,"done":true,"error":"answered 404"},{"n":0,"generation":2,"done":true,"ok":true}]}`: "then[1]: answered 404",
		`{"reason":"forced","then":[{"n":0,"generation":1,"done":true,"ok":true},{"n":2,"generation":2,"done":true,"error":"cancelled"}]}`:                  "generation 2, then[2]: cancelled",
		`{"reason":"deadline","then":[{"n":0,"generation":1,"done":true,"ok":true}]}`:                                                                       "ended: deadline",
	} {
		var result quiescence.Result
		require.NoError(t, json.Unmarshal([]byte(document), &result))
		err := judge(&result)
		if want == "" {
			require.NoError(t, err, document)
			continue
		}
		var status exit
		require.True(t, errors.As(err, &status), document)
		require.Equal(t, exitFailed, status.status, document)
		require.ErrorContains(t, err, want, document)
	}
}

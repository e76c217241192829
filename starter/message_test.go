package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatIsKnownFromOutsideIsPutIntoAStatus(t *testing.T) {
	for raw, want := range map[string]string{
		`{"asOf":1,"state":"OPEN"}`:    `{"asOf":1,"state":"OPEN","lastError":"x"}`,
		`{"lastError":"","asOf":1}`:    `{"asOf":1,"lastError":"x"}`,
		`{"lastError":"own","asOf":1}`: `{"lastError":"own","asOf":1}`,
		`{}`:                           `{"lastError":"x"}`,
	} {
		got, err := appendMember(json.RawMessage(raw), "lastError", "x", true)
		require.NoError(t, err)
		require.Equal(t, want, string(got))
		got, err = appendMember(json.RawMessage(raw), "lastError", "", false)
		require.NoError(t, err)
		require.Equal(t, raw, string(got))
	}
}

func TestAStatusTellsWhatIsInTheWay(t *testing.T) {
	require.Equal(t, told{}, toldBy(json.RawMessage(`[1]`)))
	got := toldBy(json.RawMessage(`{"state":"SUSPENDED","lastError":"x","jobs":[{"id":"a","taskQueue":"q"}]}`))
	require.Equal(t, "SUSPENDED", got.State)
	require.Equal(t, "x", got.LastError)
	require.Equal(t, "q", got.Jobs[0].TaskQueue)
}

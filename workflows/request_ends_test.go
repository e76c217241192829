package workflows

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

// TestCancelBeforeTheStartLeavesNoCheckpoint: the server's own word in the
// details is not what a try left for the next one.
func TestCancelBeforeTheStartLeavesNoCheckpoint(t *testing.T) {
	for details, want := range map[string]json.RawMessage{
		notStarted:   nil,
		`{"from":7}`: json.RawMessage(`{"from":7}`),
	} {
		end := endByError(temporal.NewCanceledError(json.RawMessage(details)))
		require.Equal(t, want, end.Checkpoint, details)
	}
	require.Nil(t, endByError(temporal.NewCanceledError()).Checkpoint)
}

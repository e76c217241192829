package claimtasks

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// A poison queue is called after its queue, which has to leave room for that.
func TestClaimTasksRefusesQueuesWithoutRoomForTheirPoison(t *testing.T) {
	in := defaultInput()
	err := shell.Decode(wire.TypeClaimTasks, json.RawMessage(`{"queues":[{"name":"`+strings.Repeat("q", 60)+`"}]}`), &in)
	require.ErrorContains(t, err, "queues[0].name: ")
	in = defaultInput()
	err = shell.Decode(wire.TypeClaimTasks, json.RawMessage(`{"queues":[{"name":"`+strings.Repeat("q", 60)+`"}],"poisonQueue":"poison"}`), &in)
	require.NoError(t, err)
}

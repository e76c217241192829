package ingest

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

func TestIngestRefusesNamesThatNoQueueMayHave(t *testing.T) {
	in := defaultInput()
	err := shell.Decode(wire.TypeIngest, json.RawMessage(`{"bucket":"b","queue":"Upper","stream":"s","table":"t","delivery":{"bucket":"d","notifications":"http://q/1"}}`), &in)
	require.ErrorContains(t, err, "queue: ")
}

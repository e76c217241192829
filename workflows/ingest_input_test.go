package workflows

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestIngestRefusesNamesThatNoQueueMayHave(t *testing.T) {
	in := defaultIngestInput()
	err := decode(TypeIngest, json.RawMessage(`{"bucket":"b","queue":"Upper","stream":"s","table":"t","delivery":{"bucket":"d","notifications":"http://q/1"}}`), &in)
	require.ErrorContains(t, err, "queue: ")
}

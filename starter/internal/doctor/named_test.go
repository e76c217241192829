package doctor

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/wire"
)

func TestWhatADocumentNamesIsFoundAtAnyDepth(t *testing.T) {
	var in wire.DoctorInput
	for _, document := range []string{
		`{"bucket":"b","queue":"tasks","stream":"s","table":"t","delivery":{"bucket":"d","notifications":"https://q/1"}}`,
		`{"jobs":[{"id":"a","input":{"$literal":{"TableName":"orders","Key":{"table":{"S":"x"}}}}},{"input":{"StreamName":"s"}}]}`,
		`{"source":{"sqs":{"queueUrl":"https://q/2"}}}`,
		`{"queues":[{"name":"first"},{"name":"second"}]}`,
		`not JSON`,
	} {
		Named(&in, json.RawMessage(document))
	}
	require.Equal(t, wire.DoctorInput{
		Tables: []string{"orders", "t"}, Streams: []string{"s"}, Buckets: []string{"b", "d"},
		QueueURLs: []string{"https://q/1", "https://q/2"}, AzureQueues: []string{"first", "second", "tasks"},
	}, in)
}

package jobchain

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTargetOfARequestIsWhatItsJobsName(t *testing.T) {
	for _, c := range []struct{ document, want string }{
		{`{"jobs":[{"id":"a","input":{"TableName":"orders"}}]}`, "orders"},
		{`{"jobs":[{"id":"a","input":[1]},{"id":"b","input":{"StreamName":"events","Records":[]}}]}`, "events"},
		{`{"jobs":[{"id":"a","input":{"bucket":{"$from":"args.bucket"}}}],"args":{"bucket":"raw"}}`, "raw"},
		{`{"jobs":[{"id":"a","input":{"queueUrl":"https://sqs/1/jobs"}}]}`, "https://sqs/1/jobs"},
		{`{"jobs":[{"id":"a","input":null}]}`, ""},
	} {
		var d Document
		require.NoError(t, json.Unmarshal([]byte(c.document), &d))
		require.Equal(t, c.want, d.Target(), c.document)
	}
}

package rollover_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
	"sluice/workflows/ingest"
)

// All at once: the claimer, its tasks, the counter and the watch of an ingestion
// each have a history that is long after twenty events.
func TestAnIngestionWhoseWorkflowsRollOverDeliversAll(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	bucket, prefix := s.Env("SLUICE_DEMO_BUCKET"), s.Name("in")+"/"
	const objects, each = 10, 20
	for o := range objects {
		var body bytes.Buffer
		for r := range each {
			fmt.Fprintf(&body, `{"object":%d,"record":%d}`+"\n", o, r)
		}
		key := fmt.Sprintf("%s%d.jsonl", prefix, o)
		_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(body.Bytes())})
		require.NoError(t, err)
	}
	document, err := json.Marshal(map[string]any{
		"bucket": bucket, "prefix": prefix, "queue": s.Env("SLUICE_DEMO_QUEUE"), "stream": s.Env("SLUICE_DEMO_STREAM"), "table": s.Env("SLUICE_DEMO_TABLE"),
		"delivery": map[string]any{"bucket": s.Env("SLUICE_DEMO_DELIVERY_BUCKET"), "notifications": s.Env("SLUICE_DEMO_NOTIFICATIONS")},
		"quiet":    map[string]any{"repeats": 4, "delay": map[string]any{"base": "2s"}}, // above the delivery's five seconds
		"deadline": "10m",
	})
	require.NoError(t, err)
	var result ingest.Result
	out := s.StarterWith(string(document), "ingest", "run", "--id", s.Name("ingest"), "-f", "-", "--wait").OK(t)
	require.NoError(t, json.Unmarshal([]byte(out.Stdout), &result), out.Stdout)
	require.EqualValues(t, objects, result.Tasks)
	require.EqualValues(t, objects*each, result.Delivered)
	require.Zero(t, result.Missing)
}

// Package ingest_test runs the main job as people do: dev stack, worker and
// starter as processes, the temporal command.
package ingest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
	"sluice/workflows/ingest"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, "--demo")) }

// fixture is a test's own prefix with objects, among the resources that the
// stack makes for the demo.
type fixture struct {
	*harness.Stack
	t       *testing.T
	bucket  string
	prefix  string
	records int64
}

// newFixture puts objects of so many records each under a prefix of the test.
func newFixture(t *testing.T, objects, recordsEach int) *fixture {
	s := harness.Start(t, harness.Options{TaskQueue: "ingest"})
	f := &fixture{Stack: s, t: t, bucket: s.Env("SLUICE_DEMO_BUCKET"), prefix: s.Name("in") + "/"}
	require.NotEmpty(t, f.bucket, "the stack made no demo resources")
	for o := range objects {
		var body bytes.Buffer
		for r := range recordsEach {
			fmt.Fprintf(&body, `{"object":%d,"record":%d,"text":"row %d, with \"quotes\" and é"}`+"\n", o, r, r)
		}
		f.put(fmt.Sprintf("object %d.jsonl", o), body.Bytes())
		f.records += int64(recordsEach)
	}
	s.Starter("setup").OK(t)
	return f
}

func (f *fixture) put(name string, body []byte) {
	key := f.prefix + name
	_, err := f.S3.PutObject(f.t.Context(), &s3.PutObjectInput{Bucket: &f.bucket, Key: &key, Body: bytes.NewReader(body)})
	require.NoError(f.t, err)
}

// document is an Ingest input that is complete, with changes laid over it; a nil
// value takes a field away.
func (f *fixture) document(changes map[string]any) string {
	document := map[string]any{
		"bucket": f.bucket, "prefix": f.prefix, "queue": f.Env("SLUICE_DEMO_QUEUE"), "stream": f.Env("SLUICE_DEMO_STREAM"),
		"table": f.Env("SLUICE_DEMO_TABLE"),
		"delivery": map[string]any{
			"bucket": f.Env("SLUICE_DEMO_DELIVERY_BUCKET"), "notifications": f.Env("SLUICE_DEMO_NOTIFICATIONS"),
		},
		// Above the stand-in's buffering interval of 5 s.
		"quiet":    map[string]any{"repeats": 4, "delay": map[string]any{"base": "2s"}},
		"deadline": "10m",
	}
	for name, value := range changes {
		if document[name] = value; value == nil {
			delete(document, name)
		}
	}
	raw, err := json.Marshal(document)
	require.NoError(f.t, err)
	return string(raw)
}

// run runs an ingestion to its end and returns its result.
func (f *fixture) run(id string) ingest.Result {
	return f.result(f.StarterWith(f.document(nil), "ingest", "run", "--id", id, "-f", "-", "--wait").OK(f.t))
}

func (f *fixture) result(r harness.Result) ingest.Result {
	var result ingest.Result
	require.NoError(f.t, json.Unmarshal([]byte(r.Stdout), &result), r.Stdout)
	return result
}

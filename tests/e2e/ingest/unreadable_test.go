package ingest_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/ingest"
)

// reported is what the report tells of an object.
type reported struct {
	Object    string `json:"object"`
	Records   int64  `json:"records"`
	Delivered int64  `json:"delivered"`
	Missing   int64  `json:"missing"`
	Error     string `json:"error"`
}

// report reads the report of an ingestion: its objects by key under the prefix, and
// the delivered ones that could not be read.
func (f *fixture) report(result ingest.Result) (objects map[string]reported, foreign map[string]string) {
	answer, err := f.S3.GetObject(f.t.Context(), &s3.GetObjectInput{Bucket: &result.Report.Bucket, Key: &result.Report.Key})
	require.NoError(f.t, err)
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	require.NoError(f.t, err)
	var report struct {
		Objects []reported                       `json:"objects"`
		Foreign []struct{ Object, Error string } `json:"unreadableObjects"`
	}
	require.NoError(f.t, json.Unmarshal(raw, &report), string(raw))
	objects, foreign = map[string]reported{}, map[string]string{}
	for _, o := range report.Objects {
		objects[o.Object[len(f.bucket+"/"+f.prefix):]] = o
	}
	for _, o := range report.Foreign {
		foreign[o.Object] = o.Error
	}
	return objects, foreign
}

// cut is a gzip text of so many lines whose end is missing.
func cut(t *testing.T, lines int) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	for n := range lines {
		_, err := fmt.Fprintf(w, `{"n":%d,"random":%d}`+"\n", n, rand.Uint64())
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	return b.Bytes()[:b.Len()/2]
}

func (f *fixture) delete(name string) {
	_, err := f.S3.DeleteObject(f.t.Context(), &s3.DeleteObjectInput{Bucket: &f.bucket, Key: aws.String(f.prefix + name)})
	require.NoError(f.t, err)
}

// deliver puts an object of somebody else's where the stream's are delivered.
func (f *fixture) deliver(name string, body []byte) string {
	bucket := f.Env("SLUICE_DEMO_DELIVERY_BUCKET")
	_, err := f.S3.PutObject(f.t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &name, Body: bytes.NewReader(body)})
	require.NoError(f.t, err)
	f.t.Cleanup(func() {
		_, _ = f.S3.DeleteObject(context.WithoutCancel(f.t.Context()), &s3.DeleteObjectInput{Bucket: &bucket, Key: &name})
	})
	return name
}

// TestObjectsThatCannotBeReadAreLinesOfTheReport: cut off, of another format,
// archived, deleted or replaced while they wait for their task, and a broken object
// of somebody else's in the delivery's bucket. All else is delivered, the run ends
// long before its deadline, and the report tells each with its reason.
func TestObjectsThatCannotBeReadAreLinesOfTheReport(t *testing.T) {
	f := newFixture(t, 3, 40)
	good := f.records
	f.put("cut.jsonl.gz", cut(t, 20_000))
	f.put("deleted.jsonl", []byte("{}\n{}\n"))
	f.put("replaced.jsonl", []byte("{}\n{}\n"))
	f.put("archived.jsonl", []byte("{}\n{}\n"))
	f.Guard.Inject(t, harness.Fault{Service: harness.S3, Operation: "GetObject", Target: f.bucket + "/" + f.prefix + "archived.jsonl",
		Status: 403, Code: "InvalidObjectState", Message: "The operation is not valid for the object's storage class"})
	foreign := f.deliver(f.Name("foreign")+".gz", cut(t, 5_000))
	gone := f.deliver(f.Name("gone"), []byte("nothing of ours\n"))
	f.Guard.Inject(t, harness.Fault{Service: harness.S3, Operation: "GetObject", Target: f.Env("SLUICE_DEMO_DELIVERY_BUCKET") + "/" + gone, Status: 404, Code: "NoSuchKey"})
	waiting := f.Guard.Inject(t, harness.Fault{Service: harness.AzQueue, Operation: "GetMessages", Target: f.Env("SLUICE_DEMO_QUEUE"), Status: 503, Code: "ServerBusy"})

	f.StartWorker()
	id := f.Name("ingest")
	f.StarterWith(f.document(nil), "ingest", "run", "--id", id, "-f", "-").OK(t)
	f.awaitPhase(id, "STREAM")
	f.delete("deleted.jsonl")
	f.put("replaced.jsonl", []byte("{}\n{}\n{}\n"))
	f.Guard.Clear(t, waiting)

	var result ingest.Result
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute) // of a deadline of ten
	defer cancel()
	require.NoError(t, f.Client.GetWorkflow(ctx, id, "").Get(ctx, &result))
	objects, unread := f.report(result)
	require.Len(t, objects, 7)
	for n := range 3 {
		o := objects[fmt.Sprintf("object %d.jsonl", n)]
		require.Empty(t, o.Error)
		require.EqualValues(t, 40, o.Delivered)
		require.Zero(t, o.Missing)
	}
	require.EqualValues(t, 3, objects["replaced.jsonl"].Delivered, "its task describes what is there by then")
	for name, why := range map[string]string{"cut.jsonl.gz": "cut off", "deleted.jsonl": "NotFound", "archived.jsonl": "InvalidObjectState"} {
		o := objects[name]
		require.Contains(t, o.Error, why)
		require.Positive(t, o.Missing, "what nobody could read did not come: %s", name)
		require.Equal(t, o.Records, o.Delivered+o.Missing)
	}
	require.Contains(t, unread[foreign], "cut off")
	require.Contains(t, unread[gone], "NotFound")
	require.GreaterOrEqual(t, result.Delivered, good)
	require.Positive(t, result.Missing)
	f.endedWhatItStarted(id)
	f.Record(id, workflows.TypeIngest, "objects-that-cannot-be-read")
}

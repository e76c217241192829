package kinesis_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"sluice"
	"sluice/activities"
	"sluice/activities/kinesis"
	"sluice/internal/connect"
	"sluice/tests/harness"
	"sluice/workflows"
)

// large are n records of so many bytes, each with a key of its own.
func large(n, bytes int) string {
	return records(n, func(i int) []byte {
		return []byte(strings.Repeat(fmt.Sprintf("%09d\n", i), bytes/10))
	}, keyed(n))
}

// startOwnWorker runs somebody's own workflow Put, which calls Kinesis.PutRecords,
// with the client options of Sluice's worker.
func startOwnWorker(w *world, bucket string) client.Client {
	options, err := sluice.ClientOptions(connect.Config{PayloadBucket: bucket}, w.S3, zap.NewNop())
	require.NoError(w.t, err)
	options.HostPort, options.Namespace = w.Env("TEMPORAL_ADDRESS"), w.Env("TEMPORAL_NAMESPACE")
	c, err := sluice.Dial(w.t.Context(), options)
	require.NoError(w.t, err)
	own := worker.New(c, w.TaskQueue+"-own", worker.Options{})
	own.RegisterWorkflowWithOptions(func(ctx workflow.Context, queue string, document json.RawMessage) (out json.RawMessage, err error) {
		options := activities.CallOptions()
		options.TaskQueue = queue
		err = workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), "Kinesis.PutRecords", document).Get(ctx, &out)
		return out, err
	}, workflow.RegisterOptions{Name: "Put"})
	require.NoError(w.t, own.Start())
	w.t.Cleanup(func() {
		own.Stop()
		c.Close()
	})
	return c
}

// TestCaseK01BatchTooBigForAPayload: what no payload holds goes by reference where
// client and worker have a bucket for it, else, and where a Request would have to
// carry it, it is refused at once, with its size.
func TestCaseK01BatchTooBigForAPayload(t *testing.T) {
	t.Run("by reference", func(t *testing.T) {
		s := harness.Start(t)
		bucket := s.NewBucket()
		w := newWorldOn(t, harness.Start(t, harness.Options{Env: []string{"SLUICE_PAYLOAD_BUCKET=" + bucket}}), 4)
		w.StartWorker()
		own := startOwnWorker(w, bucket)
		for _, c := range []struct{ n, bytes int }{{500, 10 << 10}, {3, 1_000_000}} {
			run, err := own.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: w.TaskQueue + "-own"}, "Put", w.TaskQueue,
				json.RawMessage(fmt.Sprintf(`{"StreamName":%q,"Records":%s}`, w.stream, large(c.n, c.bytes))))
			require.NoError(t, err)
			var out json.RawMessage
			require.NoError(t, run.Get(t.Context(), &out))
			require.Less(t, len(out), 1<<10, "the result has counts, not records")
			var told kinesis.PutRecordsOutput
			require.NoError(t, json.Unmarshal(out, &told))
			require.EqualValues(t, c.n, told.StoredRecordCount)
		}
		require.Len(t, w.read(), 503)
	})
	t.Run("refused with its size", func(t *testing.T) {
		w := newWorld(t, 1)
		w.StartWorker()
		for _, c := range []struct{ n, bytes int }{{500, 10 << 10}, {3, 1_000_000}} {
			document := fmt.Sprintf(`{"StreamName":%q,"Records":%s}`, w.stream, large(c.n, c.bytes))
			told := w.StarterWith(document, "kinesis", "put-records", "--wait", "-f", "-").Exits(t, 2)
			require.Contains(t, told.Stderr, activities.TypeTooLarge)
			require.Regexp(t, `\d{7}`, told.Stderr)
		}
		require.Zero(t, w.Guard.Counters(t).Sum(harness.Kinesis, "PutRecords", w.stream).Calls)
	})
	t.Run("a message of a Producer", func(t *testing.T) {
		p := newProducer(t)
		whole := fmt.Sprintf(`{"records":%s}`, large(225, 10<<10)) // 3 MB
		_, err := p.Client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{WorkflowID: p.id, UpdateName: workflows.UpdateAdd,
			Args: []any{json.RawMessage(whole)}, WaitForStage: client.WorkflowUpdateStageCompleted})
		require.Error(t, err, "the server refuses it")
		p.StarterWith(whole, "producer", "add", p.stream, "-f", "-").OK(t)
		p.Starter("producer", "flush", p.stream, "--answer-within", "1m").OK(t)
		require.EqualValues(t, 225, p.status().Sent)
		told := p.StarterWith(large(1, 1_000_000), "producer", "add", p.stream, "-f", "-").Exits(t, 1)
		require.Contains(t, told.Stderr, activities.TypeTooLarge)
		require.Len(t, p.read(), 225)
		p.end()
	})
}

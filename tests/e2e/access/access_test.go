// Package access_test exercises what AWS says of credentials, clocks and regions, by
// activities of a worker process on every service.
package access_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/internal/wire"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
)

// What is refused is waited for.
func TestMain(m *testing.M) {
	harness.AtOnce(6)
	os.Exit(harness.Main(m))
}

// A world has one target of each service and a worker.
type world struct {
	*harness.Stack
	t                           *testing.T
	table, stream, bucket, name string // name: of the SQS queue
	queueURL                    string
}

func newWorld(t *testing.T) *world {
	s := harness.Start(t)
	w := &world{Stack: s, t: t, table: s.NewTable(harness.Table{Read: 100, Write: 100}), stream: s.NewStream(1), bucket: s.NewBucket()}
	w.queueURL = s.NewQueue(nil)
	w.name = wire.QueueName(w.queueURL)
	key := "lines"
	_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &w.bucket, Key: &key, Body: strings.NewReader("a\nb\n")})
	require.NoError(t, err)
	return w
}

// targets are what faults aim at, by service.
func (w *world) targets() map[string]string {
	return map[string]string{harness.DynamoDB: w.table, harness.Kinesis: w.stream, harness.S3: w.bucket, harness.SQS: w.name}
}

// jobs makes one call of each service. The jobs of S3 are a HEAD and a GET.
func (w *world) jobs() []string {
	return []string{
		w.job("dynamodb", "DynamoDB.PutItem", `{"TableName":"`+w.table+`","Item":{"id":{"S":"1"}}}`),
		w.job("kinesis", "Kinesis.PutRecords", `{"StreamName":"`+w.stream+`","MaxAttempts":2,"OnFailed":"fail","Records":[{"Data":"YQ==","PartitionKey":"k"}]}`),
		w.job("s3", "S3.Describe", `{"bucket":"`+w.bucket+`","key":"lines"}`),
		w.job("object", "Kinesis.PutObject", `{"StreamName":"`+w.stream+`","OnFailed":"fail","Object":{"bucket":"`+w.bucket+`","key":"lines"}}`),
		w.job("sqs", "SQS.Send", `{"queueUrl":"`+w.queueURL+`","body":"hello"}`),
	}
}

func (w *world) job(id, activity, input string) string {
	return fmt.Sprintf(`{"id":%q,"activity":%q,"heartbeat":"15s","input":%s}`, id, activity, input)
}

// start starts a request of these jobs.
func (w *world) start(jobs ...string) client.WorkflowRun {
	w.t.Helper()
	run, err := w.Client.ExecuteWorkflow(w.t.Context(), client.StartWorkflowOptions{ID: "request/" + w.Name("access"), TaskQueue: w.TaskQueue},
		workflows.TypeRequest, json.RawMessage(`{"jobs":[`+strings.Join(jobs, ",")+`]}`))
	require.NoError(w.t, err)
	return run
}

// succeeds waits for a request's end and answers how many attempts its jobs took.
func (w *world) succeeds(run client.WorkflowRun, about string) (attempts int) {
	w.t.Helper()
	require.NoError(w.t, run.Get(w.t.Context(), nil), about)
	return w.attempts(run)
}

// attempts counts the activities of a request.
func (w *world) attempts(run client.WorkflowRun) (attempts int) {
	w.t.Helper()
	events := w.Client.GetWorkflowHistory(w.t.Context(), run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(w.t, err)
		if event.GetEventType() == enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED {
			attempts++
		}
	}
	return attempts
}

// denied waits for the end of a request of one job and answers why it failed.
func (w *world) denied(run client.WorkflowRun) string {
	w.t.Helper()
	require.Error(w.t, run.Get(w.t.Context(), nil))
	value, err := w.Client.QueryWorkflow(w.t.Context(), run.GetID(), "", wire.QueryStatus)
	require.NoError(w.t, err)
	var status request.Status
	require.NoError(w.t, value.Get(&status))
	require.Len(w.t, status.Jobs, 1)
	require.Contains(w.t, status.Jobs[0].Error, "AccessDenied", status.Jobs[0].ID)
	return status.Jobs[0].Error
}

// operations are what the jobs call, by service.
var operations = map[string][]string{ //nolint:gochecknoglobals // a constant table
	harness.DynamoDB: {"PutItem"}, harness.Kinesis: {"PutRecords"}, harness.S3: {"HeadObject", "GetObject"}, harness.SQS: {"SendMessage"},
}

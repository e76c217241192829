package quiescence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
)

// counter is a counter item.
type counter struct {
	records    int64
	lastChange string
}

func counterOf(t *testing.T, s *harness.Stack, table, id string) counter {
	t.Helper()
	answer, err := s.DynamoDB.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &table, ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
	})
	require.NoError(t, err)
	n, ok := answer.Item["num_records"].(*types.AttributeValueMemberN)
	if !ok {
		return counter{records: -1}
	}
	records, err := strconv.ParseInt(n.Value, 10, 64)
	require.NoError(t, err)
	return counter{records, answer.Item["last_change"].(*types.AttributeValueMemberS).Value}
}

func awaitCount(t *testing.T, s *harness.Stack, table, id string, want int64) {
	t.Helper()
	harness.Await(t, fmt.Sprintf("counter %s is %d", id, want), func(context.Context) error {
		if c := counterOf(t, s, table, id); c.records != want {
			return fmt.Errorf("it is %d", c.records)
		}
		return nil
	})
}

// monitor starts CountObjects as the starter would.
func monitor(t *testing.T, s *harness.Stack, url, table, more string) client.WorkflowRun {
	t.Helper()
	run, err := s.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: s.Name("count"), TaskQueue: s.TaskQueue},
		"CountObjects", json.RawMessage(fmt.Sprintf(`{"queueUrl":%q,"table":%q%s}`, url, table, more)))
	require.NoError(t, err)
	return run
}

func update(t *testing.T, s *harness.Stack, id, name, input string, answer any) {
	t.Helper()
	handle, err := s.Client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: []any{json.RawMessage(input)}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(t, err)
	require.NoError(t, handle.Get(t.Context(), answer))
}

func record(name, bucket, key, sequencer string) string {
	return fmt.Sprintf(`{"eventVersion":"2.1","eventName":%q,"eventTime":"2026-01-02T03:04:05.000Z","s3":{"bucket":{"name":%q},"object":{"key":%q,"size":1,"eTag":"e","sequencer":%q}}}`,
		name, bucket, key, sequencer)
}

func send(t *testing.T, s *harness.Stack, url string, bodies ...string) {
	t.Helper()
	for from := 0; from < len(bodies); from += 10 {
		var entries []sqstypes.SendMessageBatchRequestEntry
		for i, body := range bodies[from:min(from+10, len(bodies))] {
			entries = append(entries, sqstypes.SendMessageBatchRequestEntry{Id: aws.String(strconv.Itoa(i)), MessageBody: aws.String(body)})
		}
		_, err := s.SQS.SendMessageBatch(t.Context(), &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: entries})
		require.NoError(t, err)
	}
}

func records(rs ...string) string {
	return `{"Records":[` + joined(rs) + `]}`
}

func joined(rs []string) string {
	out := ""
	for i, r := range rs {
		if i > 0 {
			out += ","
		}
		out += r
	}
	return out
}

// S3 announces what it stores to the queue; the count is that of the objects.
func TestCountsWhatS3Announces(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	landing, url, counts := s.NewBucket(), s.NewQueue(nil), s.NewTable(harness.Table{})
	attributes, err := s.SQS.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn}})
	require.NoError(t, err)
	_, err = s.S3.PutBucketNotificationConfiguration(t.Context(), &s3.PutBucketNotificationConfigurationInput{
		Bucket: &landing,
		NotificationConfiguration: &s3types.NotificationConfiguration{QueueConfigurations: []s3types.QueueConfiguration{{
			QueueArn: aws.String(attributes.Attributes["QueueArn"]), Events: []s3types.Event{"s3:ObjectCreated:*"},
		}}},
	})
	require.NoError(t, err)
	run := monitor(t, s, url, counts, "")
	for i := range 30 {
		put(t, s, landing, fmt.Sprintf("in/object %d+.csv", i%25), strconv.Itoa(i))
	}
	awaitCount(t, s, counts, landing, 25)

	var st countStatus
	update(t, s, run.GetID(), "drain", `{}`, &st)
	require.NoError(t, run.Get(t.Context(), &st))
	require.Equal(t, "DONE", st.State)
	require.EqualValues(t, 30, st.Messages)
	require.EqualValues(t, 25, counterOf(t, s, counts, landing).records)
	s.Record(run.GetID(), "CountObjects", "drained")
}

type countStatus struct {
	State                                      string
	Messages, Events, News, Passed, Unreadable int64
	LastError                                  string
}

// Duplicates, reordered events, wrappings, test events and unreadable messages in
// one queue; the table's counters come out exact and unreadable ones are redriven.
func TestCountsExactly(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	counts, dead := s.NewTable(harness.Table{}), s.NewQueue(nil)
	url := s.NewQueue(map[string]string{
		"VisibilityTimeout": "1",
		"RedrivePolicy":     fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"2"}`, "arn:aws:sqs:us-east-1:000000000000:"+nameOf(dead)),
	})
	sns := func(body string) string {
		return jsonOf(t, map[string]string{"Type": "Notification", "Message": body})
	}
	bodies := []string{
		`{"Service":"Amazon S3","Event":"s3:TestEvent","Bucket":"b"}`,
		`not json`,
		records(record("s3:ObjectRemoved:Delete", "b", "x/gone", "0061A"), record("ObjectCreated:Put", "b", "x/gone", "00619FFF")),
		sns(records(record("ObjectCreated:CompleteMultipartUpload", "b", "y/wrapped+key", "01"))),
		`{"detail-type":"Object Created","source":"aws.s3","detail":{"bucket":{"name":"b"},"object":{"key":"y/bridged key","sequencer":"01"}}}`,
		records(record("ObjectCreated:Put", "b", "root", "01")),
	}
	for i := range 40 {
		bodies = append(bodies, records(record("ObjectCreated:Put", "b", fmt.Sprintf("x/%d", i), "02")))
	}
	run := monitor(t, s, url, counts, `,"key":"prefix"`)
	for range 3 {
		send(t, s, url, bodies...)
	}
	awaitCount(t, s, counts, "b/x", 40)
	awaitCount(t, s, counts, "b/y", 2)
	awaitCount(t, s, counts, "b", 1)
	harness.Await(t, "unreadable messages are redriven", func(ctx context.Context) error {
		answer, err := s.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
			QueueUrl: &dead, AttributeNames: []sqstypes.QueueAttributeName{"ApproximateNumberOfMessages"}})
		if err != nil {
			return err
		}
		if n := answer.Attributes["ApproximateNumberOfMessages"]; n != "3" {
			return fmt.Errorf("%s in the dead-letter queue", n)
		}
		return nil
	})
	before := counterOf(t, s, counts, "b/x")
	send(t, s, url, bodies[6:]...)
	var st countStatus
	update(t, s, run.GetID(), "drain", `{"wait":"1m"}`, &st)
	require.NoError(t, run.Get(t.Context(), &st))
	require.Equal(t, "DONE", st.State)
	require.Equal(t, before, counterOf(t, s, counts, "b/x"), "repeats do not even touch the counter")
	require.EqualValues(t, 3, st.Passed)
	require.GreaterOrEqual(t, st.Unreadable, int64(3))
}

func nameOf(url string) string {
	for i := len(url) - 1; i >= 0; i-- {
		if url[i] == '/' {
			return url[i+1:]
		}
	}
	return url
}

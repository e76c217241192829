// Package kinesis_test puts records to the dev stack's streams.
package kinesis_test

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"sluice"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities/kinesis"
	"sluice/activities/s3"
	"sluice/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// world is a stack with one stream, and the Kinesis activities in this process.
type world struct {
	*harness.Stack
	t        *testing.T
	stream   string
	kinesis  *kinesis.Activities
	activity *testsuite.TestActivityEnvironment
}

func newWorld(t *testing.T, shards int, change ...func(*kinesis.Settings)) *world {
	return newWorldOn(t, harness.Start(t), shards, change...)
}

func newWorldOn(t *testing.T, s *harness.Stack, shards int, change ...func(*kinesis.Settings)) *world {
	w := &world{Stack: s, t: t, stream: s.NewStream(shards)}
	settings := kinesis.DefaultSettings()
	for _, f := range change {
		f(&settings)
	}
	store := &s3.Activities{API: s.S3}
	w.kinesis = &kinesis.Activities{
		API: s.Kinesis, Objects: store, Letters: &kinesis.DeadLetters{S3: s.S3, SQS: s.SQS},
		Settings: settings, Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(testWriter{t}, nil))),
	}
	suite := &testsuite.WorkflowTestSuite{}
	w.activity = suite.NewTestActivityEnvironment()
	w.activity.SetTestTimeout(time.Minute)
	sluice.RegisterActivities(registrar{w.activity}, w.kinesis, store)
	return w
}

// registrar lets a test's environment take the activities that a worker has.
type registrar struct {
	*testsuite.TestActivityEnvironment
}

func (r registrar) RegisterDynamicActivity(any, activity.DynamicRegisterOptions) {}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Log(strings.TrimSpace(string(p)))
	return len(p), nil
}

// bucket makes a bucket with one object and describes it as S3.Describe does.
func (w *world) object(key, body string) s3.Object {
	bucket := w.NewBucket()
	_, err := w.S3.PutObject(w.t.Context(), &awss3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(body)})
	require.NoError(w.t, err)
	var d s3.Description
	w.run("S3.Describe", fmt.Sprintf(`{"bucket":%q,"key":%q}`, bucket, key), &d)
	return d.Object
}

// run runs an activity on a document and decodes what it answers.
func (w *world) run(name, document string, into any) {
	w.t.Helper()
	value, err := w.activity.ExecuteActivity(name, json.RawMessage(document))
	require.NoError(w.t, err)
	require.NoError(w.t, value.Get(into))
}

// read is all that the stream holds, by shard in the order stored.
func (w *world) read() (all []types.Record) {
	ctx := w.t.Context()
	shards, err := w.Kinesis.ListShards(ctx, &awskinesis.ListShardsInput{StreamName: &w.stream})
	require.NoError(w.t, err)
	for _, shard := range shards.Shards {
		i, err := w.Kinesis.GetShardIterator(ctx, &awskinesis.GetShardIteratorInput{StreamName: &w.stream,
			ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
		require.NoError(w.t, err)
		next := i.ShardIterator
		for next != nil {
			page, err := w.Kinesis.GetRecords(ctx, &awskinesis.GetRecordsInput{ShardIterator: next})
			require.NoError(w.t, err)
			all = append(all, page.Records...)
			if len(page.Records) == 0 {
				break
			}
			next = page.NextShardIterator
		}
	}
	return all
}

// records is a list of n records as AWS writes it, with data and keys by number.
func records(n int, data func(int) []byte, key func(int) string) string {
	list := make([]map[string]any, n)
	for i := range list {
		list[i] = map[string]any{"Data": data(i), "PartitionKey": key(i)}
	}
	text, _ := json.Marshal(list)
	return string(text)
}

func numbered(i int) []byte { return fmt.Appendf(nil, "record %d", i) }

func keyed(n int) func(int) string {
	return func(i int) string { return fmt.Sprintf("key-%d", i%n) }
}

func TestPutRecords(t *testing.T) {
	w := newWorld(t, 2)
	var out kinesis.PutRecordsOutput
	w.run("Kinesis.PutRecords", fmt.Sprintf(`{"StreamName":%q,"Records":%s}`, w.stream, records(1200, numbered, keyed(100))), &out)
	require.EqualValues(t, 1200, out.RecordCount)
	require.EqualValues(t, 1200, out.StoredRecordCount)
	require.Empty(t, out.Failed)
	require.Len(t, out.Shards, 2)
	last := map[string]*big.Int{}
	seen := map[string]bool{}
	for _, r := range w.read() {
		var n int
		_, err := fmt.Sscanf(string(r.Data), "record %d", &n)
		require.NoError(t, err)
		require.False(t, seen[string(r.Data)])
		seen[string(r.Data)] = true
		key := aws.ToString(r.PartitionKey)
		if before := last[key]; before != nil {
			require.Positive(t, big.NewInt(int64(n)).Cmp(before), "out of order")
		}
		last[key] = big.NewInt(int64(n))
	}
	require.Len(t, seen, 1200)
}

func TestPutObject(t *testing.T) {
	w := newWorld(t, 2)
	var body strings.Builder
	for i := range 3000 {
		fmt.Fprintf(&body, `{"id":%d,"name":"n%d"}`+"\n", i, i%50)
	}
	object, err := json.Marshal(w.object("data.jsonl", body.String()))
	require.NoError(t, err)
	var out kinesis.PutRecordsOutput
	w.run("Kinesis.PutObject", fmt.Sprintf(`{"StreamName":%q,"Object":%s,"Envelope":true,"Run":"r1","PartitionKey":"name"}`, w.stream, object), &out)
	require.EqualValues(t, 3000, out.StoredRecordCount)
	require.EqualValues(t, 3000, out.RecordCount)
	seen := map[string]bool{}
	for _, r := range w.read() {
		var e struct {
			ID   string
			Data struct{ ID int }
		}
		require.NoError(t, json.Unmarshal(r.Data, &e))
		require.True(t, strings.HasSuffix(e.ID, fmt.Sprintf("data.jsonl#%d", e.Data.ID)), e.ID)
		seen[e.ID] = true
	}
	require.Len(t, seen, 3000)
}

// TestPutRecordsByARNKeepsWhatFailed: the stream named by its ARN, the bad records
// in a bucket and in a queue.
func TestPutRecordsByARNKeepsWhatFailed(t *testing.T) {
	w := newWorld(t, 1)
	d, err := w.Kinesis.DescribeStream(t.Context(), &awskinesis.DescribeStreamInput{StreamName: &w.stream})
	require.NoError(t, err)
	bucket, queue := w.NewBucket(), w.NewQueue(nil)
	put := func(deadLetter string) {
		var out kinesis.PutRecordsOutput
		w.run("Kinesis.PutRecords", fmt.Sprintf(`{"StreamARN":%q,"DeadLetter":%s,"Records":[{"Data":"Z29vZA==","PartitionKey":"k"},{"Data":"YmFk","PartitionKey":""}]}`,
			aws.ToString(d.StreamDescription.StreamARN), deadLetter), &out)
		require.EqualValues(t, 1, out.StoredRecordCount)
		require.EqualValues(t, 1, out.FailedRecordCount)
	}
	put(fmt.Sprintf(`{"bucket":%q,"prefix":"p/"}`, bucket))
	put(fmt.Sprintf(`{"queueUrl":%q}`, queue))
	require.Len(t, w.read(), 2)
	list, err := w.S3.ListObjectsV2(t.Context(), &awss3.ListObjectsV2Input{Bucket: &bucket, Prefix: aws.String("p/")})
	require.NoError(t, err)
	require.Len(t, list.Contents, 1)
	object, err := w.S3.GetObject(t.Context(), &awss3.GetObjectInput{Bucket: &bucket, Key: list.Contents[0].Key})
	require.NoError(t, err)
	line, err := io.ReadAll(object.Body)
	require.NoError(t, err)
	messages, err := w.SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &queue})
	require.NoError(t, err)
	require.Len(t, messages.Messages, 1)
	for _, letter := range []string{string(line), *messages.Messages[0].Body} {
		var kept struct {
			Data      []byte
			Index     int
			ErrorCode string
		}
		require.NoError(t, json.Unmarshal([]byte(letter), &kept))
		require.Equal(t, "bad", string(kept.Data))
		require.Equal(t, 1, kept.Index)
		require.Equal(t, "InvalidPartitionKey", kept.ErrorCode)
	}
}

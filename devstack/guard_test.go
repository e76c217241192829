package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"
)

// admin calls the guard's admin address.
func (c *clients) admin(t *testing.T, method, path string, in, out any) {
	t.Helper()
	var body bytes.Buffer
	require.NoError(t, json.NewEncoder(&body).Encode(in))
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, c.env["SLUICE_GUARD_ADMIN"]+path, &body)
	require.NoError(t, err)
	response, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, "%s", answer)
	if out != nil {
		require.NoError(t, json.Unmarshal(answer, out))
	}
}

// inject adds a fault for the length of the test.
func (c *clients) inject(t *testing.T, fault string) {
	t.Helper()
	var added struct{ ID string }
	c.admin(t, http.MethodPost, "/faults", json.RawMessage(fault), &added)
	t.Cleanup(func() { c.admin(t, http.MethodDelete, "/faults?id="+added.ID, nil, nil) })
}

func TestFaults(t *testing.T) {
	c := connect(t)
	table := c.table(t, nil, nil)
	put := func(ctx context.Context, id string) error {
		_, err := c.dynamodb.PutItem(ctx, &dynamodb.PutItemInput{TableName: &table, Item: item{"id": text(id)}})
		return err
	}
	exists := func(id string) bool {
		out, err := c.dynamodb.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &table, Key: item{"id": text(id)}})
		require.NoError(t, err)
		return out.Item != nil
	}
	on := func(rest string) string {
		return `{"service":"dynamodb","operation":"PutItem","target":"` + table + `",` + rest + `}`
	}

	t.Run("an error in place of the second call", func(t *testing.T) {
		c.inject(t, on(`"from":2,"count":1,"status":500,"code":"InternalServerError"`))
		require.NoError(t, put(t.Context(), "a1"))
		var internal *dynamotypes.InternalServerError
		require.ErrorAs(t, put(t.Context(), "a2"), &internal)
		require.False(t, exists("a2"))
		require.NoError(t, put(t.Context(), "a3"))
	})
	t.Run("a body of somebody else's", func(t *testing.T) {
		c.inject(t, on(`"status":503,"body":"<html>busy</html>"`))
		require.ErrorContains(t, put(t.Context(), "b"), "503")
	})
	t.Run("the answer is lost", func(t *testing.T) {
		c.inject(t, on(`"count":1,"drop":"answer"`))
		require.Error(t, put(t.Context(), "c"))
		require.True(t, exists("c"))
	})
	t.Run("the request is lost", func(t *testing.T) {
		c.inject(t, on(`"count":1,"drop":"request"`))
		require.Error(t, put(t.Context(), "d"))
		require.False(t, exists("d"))
	})
	t.Run("done, and answered by an error", func(t *testing.T) {
		c.inject(t, on(`"work":true,"code":"InternalServerError","status":500`))
		require.Error(t, put(t.Context(), "e"))
		require.True(t, exists("e"))
	})
	t.Run("the body stalls", func(t *testing.T) {
		c.inject(t, on(`"stall":"1h"`))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- put(ctx, "f") }()
		eventually(t, func(context.Context) error {
			if !exists("f") {
				return errors.New("not written yet")
			}
			return nil
		})
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled, "it was written, and not answered")
	})
	t.Run("latency", func(t *testing.T) {
		c.inject(t, on(`"latency":"200ms"`))
		began := time.Now()
		require.NoError(t, put(t.Context(), "g"))
		require.Greater(t, time.Since(began), 200*time.Millisecond)
	})
	t.Run("a cancelled transaction", func(t *testing.T) {
		c.inject(t, `{"service":"dynamodb","operation":"TransactWriteItems","reasons":[{"Code":"None"},{"Code":"TransactionConflict"}]}`)
		_, err := c.dynamodb.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []dynamotypes.TransactWriteItem{{Put: &dynamotypes.Put{TableName: &table, Item: item{"id": text("h")}}}}})
		var cancelled *dynamotypes.TransactionCanceledException
		require.ErrorAs(t, err, &cancelled)
		require.Equal(t, "TransactionConflict", *cancelled.CancellationReasons[1].Code)
	})
	t.Run("entries of a batch are left unprocessed", func(t *testing.T) {
		c.inject(t, `{"service":"dynamodb","operation":"BatchGetItem","count":1,"entries":[{}]}`)
		c.inject(t, `{"service":"dynamodb","operation":"BatchGetItem","entries":[{"index":1}]}`)
		in := &dynamodb.BatchGetItemInput{RequestItems: map[string]dynamotypes.KeysAndAttributes{table: {Keys: []map[string]dynamotypes.AttributeValue{{"id": text("a1")}, {"id": text("c")}}}}}
		out, err := c.dynamodb.BatchGetItem(t.Context(), in)
		require.NoError(t, err)
		require.Len(t, out.UnprocessedKeys[table].Keys, 2)
		require.Empty(t, out.Responses)
		out, err = c.dynamodb.BatchGetItem(t.Context(), in)
		require.NoError(t, err)
		require.Len(t, out.UnprocessedKeys[table].Keys, 1)
		require.Len(t, out.Responses[table], 1)
	})
}

func TestRecordFaults(t *testing.T) {
	c := connect(t)
	stream := c.stream(t, 2)
	c.inject(t, `{"service":"kinesis","operation":"PutRecords","target":"`+stream+`","count":1,"entries":[{"index":0,"code":"InternalFailure"},{"shard":"shardId-000000000001","code":"ProvisionedThroughputExceededException"}]}`)
	out, err := c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: records(20, 10)})
	require.NoError(t, err)
	require.Equal(t, "InternalFailure", *out.Records[0].ErrorCode)
	failed := 0
	for _, r := range out.Records[1:] {
		if r.ErrorCode != nil {
			require.Equal(t, "ProvisionedThroughputExceededException", *r.ErrorCode)
			failed++
		} else {
			require.Equal(t, "shardId-000000000000", *r.ShardId)
		}
	}
	require.EqualValues(t, failed+1, *out.FailedRecordCount)
	require.Len(t, c.stored(t, stream), 19-failed)

	c.inject(t, `{"service":"kinesis","operation":"PutRecords","target":"`+stream+`","duplicate":true}`)
	_, err = c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: records(3, 10)})
	require.NoError(t, err)
	require.Len(t, c.stored(t, stream), 19-failed+6)
}

func TestCounters(t *testing.T) {
	c := connect(t)
	table := c.table(t, capacity(5, 2), nil)
	_, err := c.put(t, table, item{"id": text("1"), "data": text(strings.Repeat("x", 60_000))})
	require.NoError(t, err)
	for _, id := range []string{"2", "3"} {
		_, err := c.put(t, table, item{"id": text(id)})
		require.Error(t, err, "much is owed")
	}
	var counters map[string]map[string]map[string]struct {
		Calls, Throttled, Faulted int
		Consumed                  float64
	}
	c.admin(t, http.MethodGet, "/counters", nil, &counters)
	n := counters["dynamodb"]["PutItem"][table]
	require.Equal(t, 3, n.Calls)
	require.Equal(t, 2, n.Throttled)
	require.Equal(t, 59.0, n.Consumed)
	require.Equal(t, 59.0, counters["dynamodb"]["write"][table].Consumed)

	c.admin(t, http.MethodPut, "/limits", json.RawMessage(`{"dynamodb":{"tables":{"`+table+`":{"write":1000}}}}`), nil)
	eventually(t, func(context.Context) error { _, err := c.put(t, table, item{"id": text("4")}); return err })
	for range 5 {
		_, err := c.put(t, table, item{"id": text("4")})
		require.NoError(t, err)
	}
}

func TestObjectEvents(t *testing.T) {
	c := connect(t)
	ctx := t.Context()
	bucket := name(t)
	_, err := c.s3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket})
	require.NoError(t, err)
	queue, err := c.sqs.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &bucket})
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(*queue.QueueUrl, c.env["AWS_ENDPOINT_URL_SQS"]+"/"), *queue.QueueUrl)
	_, err = c.s3.PutBucketNotificationConfiguration(ctx, &s3.PutBucketNotificationConfigurationInput{Bucket: &bucket,
		NotificationConfiguration: &s3types.NotificationConfiguration{QueueConfigurations: []s3types.QueueConfiguration{{
			QueueArn: aws.String("arn:aws:sqs:us-east-1:000000000000:" + bucket), Events: []s3types.Event{"s3:ObjectCreated:*", "s3:ObjectRemoved:*"}}}}})
	require.NoError(t, err)

	key := aws.String("a b/ü+.txt")
	for _, content := range []string{"one", "two", "three"} {
		_, err = c.s3.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: key, Body: strings.NewReader(content)})
		require.NoError(t, err)
	}
	got, err := c.s3.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: key, ChecksumMode: s3types.ChecksumModeEnabled})
	require.NoError(t, err)
	require.NotEmpty(t, aws.ToString(got.ChecksumCRC32))
	content, err := io.ReadAll(got.Body)
	require.NoError(t, err, "the client verifies the checksum")
	require.Equal(t, "three", string(content))

	_, err = c.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: aws.String("absent")})
	require.NoError(t, err)
	_, err = c.s3.DeleteObjects(ctx, &s3.DeleteObjectsInput{Bucket: &bucket, Delete: &s3types.Delete{Objects: []s3types.ObjectIdentifier{{Key: key}, {Key: aws.String("absent")}}}})
	require.NoError(t, err)

	type event struct {
		EventName string
		S3        struct {
			Bucket struct{ Name string }
			Object struct{ Key, Sequencer, ETag string }
		}
	}
	bySequencer := map[string]event{}
	eventually(t, func(ctx context.Context) error {
		out, err := c.sqs.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: queue.QueueUrl, MaxNumberOfMessages: 10, WaitTimeSeconds: 1})
		if err != nil {
			return err
		}
		for _, m := range out.Messages {
			var body struct{ Records []event }
			if err := json.Unmarshal([]byte(*m.Body), &body); err != nil {
				return err
			}
			if len(body.Records) == 0 {
				continue // s3:TestEvent
			}
			bySequencer[body.Records[0].S3.Object.Sequencer] = body.Records[0]
		}
		if len(bySequencer) < 4 {
			return errors.New("not all announced")
		}
		return nil
	})
	var order []string
	for _, e := range bySequencer {
		order = append(order, e.S3.Object.Sequencer)
		require.Equal(t, "a+b%2F%C3%BC%2B.txt", e.S3.Object.Key)
	}
	require.Len(t, order, 4)
	first, last := order[0], order[0]
	for _, s := range order {
		first, last = min(first, s), max(last, s)
	}
	require.Equal(t, "f97c5d29941bfb1b2fdab0874906ab82", bySequencer[first].S3.Object.ETag, "MD5 of one")
	require.Equal(t, "ObjectCreated:Put", bySequencer[first].EventName)
	require.Equal(t, "ObjectRemoved:Delete", bySequencer[last].EventName)
}

func TestAzureQueuesAreNamed(t *testing.T) {
	c := connect(t)
	queue := strings.ReplaceAll(name(t), "_", "-")
	_, err := c.queues.CreateQueue(t.Context(), queue, nil)
	require.NoError(t, err)
	q := c.queues.NewQueueClient(queue)
	c.inject(t, `{"service":"azqueue","operation":"PutMessage","target":"`+queue+`","count":1,"status":403,"code":"AuthenticationFailed"}`)
	_, err = q.EnqueueMessage(t.Context(), "x", nil)
	require.ErrorContains(t, err, "AuthenticationFailed")
	_, err = q.EnqueueMessage(t.Context(), "x", nil)
	require.NoError(t, err)
	out, err := q.DequeueMessage(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, out.Messages, 1)
}

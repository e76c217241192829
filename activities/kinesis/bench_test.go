package kinesis

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"sluice/internal/recordbatch"
)

// cannedAnswers answers every request with the same 500 stored records.
type cannedAnswers struct{ body []byte }

func (c cannedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(c.body)),
		ContentLength: int64(len(c.body)), Request: r}, nil
}

func cannedClient() *awskinesis.Client {
	entry := `{"SequenceNumber":"49590338271490256608559692538361571095921575989136588898","ShardId":"shardId-000000000000"}`
	body := `{"Records":[` + strings.Repeat(entry+",", 499) + entry + `],"FailedRecordCount":0}`
	return awskinesis.New(awskinesis.Options{Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1"),
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		HTTPClient:  &http.Client{Transport: cannedAnswers{[]byte(body)}}, Retryer: aws.NopRetryer{}})
}

// BenchmarkRequest is one request of 500 records of 200 bytes without a network:
// body, signature, answer.
func BenchmarkRequest(b *testing.B) {
	set := recordbatch.Settings{Limits: DefaultSettings().Limits, BufferBytes: 64 << 20,
		Backoff: func(int) time.Duration { return time.Second }}
	shards := recordbatch.EvenShards(1)
	shards[0].ID = "shardId-000000000000"
	data := bytes.Repeat([]byte("x"), 200)
	client, now := cannedClient(), time.Now()
	queue := recordbatch.NewQueue(set, shards, now)
	call := &recordbatch.Call{MaxAttempts: 10}
	items := make([]recordbatch.Item, 500)
	x := &rawExchange{buffers: &buffers{}}
	b.ReportAllocs()
	for b.Loop() {
		for i := range items {
			items[i] = recordbatch.Item{Record: &recordbatch.Record{Data: data, Key: "key-123"}, Call: call}
		}
		queue.Push(items, now)
		queue.Flush()
		r, _ := queue.Next(now)
		x.users.Store(2) // never back to a pool
		x.body = x.encoder.AppendJSON(x.body[:0], r, "stream", "")
		if err := putBody(context.Background(), client, streamName{name: "stream"}, x); err != nil {
			b.Fatal(err)
		}
		if _, err := r.ReadAnswer(x.answer); err != nil {
			b.Fatal(err)
		}
		queue.Done(r, recordbatch.Outcome{Kind: recordbatch.Answered}, now)
		queue.Release(r)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/record")
}

// BenchmarkBareSDK is the same through the SDK's own encoder.
func BenchmarkBareSDK(b *testing.B) {
	data := bytes.Repeat([]byte("x"), 200)
	entries := make([]types.PutRecordsRequestEntry, 500)
	for i := range entries {
		entries[i] = types.PutRecordsRequestEntry{Data: data, PartitionKey: aws.String(fmt.Sprint("key-", i))}
	}
	client := cannedClient()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := client.PutRecords(context.Background(), &awskinesis.PutRecordsInput{StreamName: aws.String("stream"), Records: entries}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/500, "ns/record")
}

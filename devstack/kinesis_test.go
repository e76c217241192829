package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"
)

func (c *clients) stream(t *testing.T, shards int32) string {
	t.Helper()
	stream := name(t)
	_, err := c.kinesis.CreateStream(t.Context(), &kinesis.CreateStreamInput{StreamName: &stream, ShardCount: &shards})
	require.NoError(t, err)
	eventually(t, func(ctx context.Context) error {
		out, err := c.kinesis.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &stream})
		if err == nil && out.StreamDescriptionSummary.StreamStatus != types.StreamStatusActive {
			return errors.New(string(out.StreamDescriptionSummary.StreamStatus))
		}
		return err
	})
	return stream
}

func records(n, size int) []types.PutRecordsRequestEntry {
	list := make([]types.PutRecordsRequestEntry, n)
	for i := range list {
		list[i] = types.PutRecordsRequestEntry{PartitionKey: aws.String(fmt.Sprintf("%04d", i)), Data: []byte(strings.Repeat("x", size))}
	}
	return list
}

// stored reads all data of a stream, shard by shard.
func (c *clients) stored(t *testing.T, stream string) (data []string) {
	t.Helper()
	shards, err := c.kinesis.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: &stream})
	require.NoError(t, err)
	for _, shard := range shards.Shards {
		at, err := c.kinesis.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{StreamName: &stream, ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
		require.NoError(t, err)
		for iterator := at.ShardIterator; iterator != nil; {
			out, err := c.kinesis.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: iterator})
			require.NoError(t, err)
			for _, r := range out.Records {
				data = append(data, string(r.Data))
			}
			if iterator = out.NextShardIterator; len(out.Records) == 0 && *out.MillisBehindLatest == 0 {
				break
			}
		}
	}
	return data
}

// atOnce calls f n times side by side and answers its results.
func atOnce[T any](n int, f func() T) []T {
	results := make([]T, n)
	var wg sync.WaitGroup
	for i := range results {
		wg.Go(func() { results[i] = f() })
	}
	wg.Wait()
	return results
}

func TestShardLimitFailsSingleRecords(t *testing.T) {
	c := connect(t)
	stream := c.stream(t, 1)
	type answer struct {
		out *kinesis.PutRecordsOutput
		err error
	}
	failed, sent := 0, 0
	put := func() answer {
		out, err := c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: records(500, 10)})
		return answer{out, err}
	}
	var answers []answer
	for failed == 0 { // a slow machine may need several seconds for more than fits one
		answers = atOnce(6, put)
		sent += 500 * len(answers)
		for _, a := range answers {
			require.NoError(t, a.err)
			failed += int(*a.out.FailedRecordCount)
		}
	}
	for _, a := range answers {
		require.Len(t, a.out.Records, 500)
		bad := 0
		for _, r := range a.out.Records {
			if r.ErrorCode != nil {
				require.Equal(t, "ProvisionedThroughputExceededException", *r.ErrorCode)
				require.Contains(t, *r.ErrorMessage, "shardId-000000000000")
				require.Nil(t, r.SequenceNumber)
				bad++
			} else {
				require.NotEmpty(t, *r.SequenceNumber)
			}
		}
		require.EqualValues(t, bad, *a.out.FailedRecordCount)
	}
	require.Len(t, c.stored(t, stream), sent-failed)

	// The other shards of a stream have limits of their own.
	wide := c.stream(t, 4)
	out, err := c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &wide, Records: records(500, 2000)})
	require.NoError(t, err)
	require.Zero(t, *out.FailedRecordCount)
}

func TestShardBytesAreLimited(t *testing.T) {
	c := connect(t)
	stream := c.stream(t, 1)
	put := func() error {
		_, err := c.kinesis.PutRecord(t.Context(), &kinesis.PutRecordInput{StreamName: &stream, PartitionKey: aws.String("k"), Data: make([]byte, 1<<20-1)})
		return err
	}
	stored, refused, began := 0, 0, time.Now()
	for refused == 0 {
		for _, err := range atOnce(5, put) {
			if err == nil {
				stored++
				continue
			}
			var throttled *types.ProvisionedThroughputExceededException
			require.ErrorAs(t, err, &throttled)
			refused++
		}
	}
	require.Positive(t, stored, "a whole second's worth in one record")
	require.LessOrEqual(t, float64(stored), 2+time.Since(began).Seconds(), "one a second, and a second's burst")
}

func TestRequestsUpToTenMebibytes(t *testing.T) {
	c := connect(t)
	stream := c.stream(t, 12)
	arn := aws.String("arn:aws:kinesis:us-east-1:000000000000:stream/" + stream)
	list := records(480, 20_000) // 9.6 MB, more than the emulator takes at once
	out, err := c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamARN: arn, Records: list})
	require.NoError(t, err)
	require.Len(t, out.Records, 480)
	stored := 0
	for _, r := range out.Records {
		if r.SequenceNumber != nil {
			stored++
		}
	}
	require.EqualValues(t, 480-stored, *out.FailedRecordCount)
	require.Len(t, c.stored(t, stream), stored)

	_, err = c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: records(500, 21_000)})
	var invalid *types.InvalidArgumentException
	require.ErrorAs(t, err, &invalid)
	_, err = c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: records(1, 1<<20)})
	require.ErrorAs(t, err, &invalid, "the partition key counts too")
	_, err = c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: records(501, 1)})
	require.Error(t, err)
}

func TestReshardingIsFollowed(t *testing.T) {
	c := connect(t)
	stream := c.stream(t, 1)
	fill := func() (failed int32) {
		for range 3 {
			out, err := c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: records(500, 1)})
			require.NoError(t, err)
			failed += *out.FailedRecordCount
		}
		return failed
	}
	fill()
	_, err := c.kinesis.SplitShard(t.Context(), &kinesis.SplitShardInput{StreamName: &stream, ShardToSplit: aws.String("shardId-000000000000"), NewStartingHashKey: aws.String("170141183460469231731687303715884105728")})
	require.NoError(t, err)
	out, err := c.kinesis.PutRecords(t.Context(), &kinesis.PutRecordsInput{StreamName: &stream, Records: records(500, 1)})
	require.NoError(t, err)
	require.Zero(t, *out.FailedRecordCount, "two new shards, both with their whole budget")
	require.NotEqual(t, "shardId-000000000000", *out.Records[0].ShardId)
}

package kinesis_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"

	"sluice/activities/kinesis"
	"sluice/tests/harness"
)

// openShards are the stream's open shards, in the order of their hash keys.
func (w *world) openShards() (open []types.Shard) {
	list, err := w.Kinesis.ListShards(w.t.Context(), &awskinesis.ListShardsInput{StreamName: &w.stream})
	require.NoError(w.t, err)
	for _, shard := range list.Shards {
		if shard.SequenceNumberRange.EndingSequenceNumber == nil {
			open = append(open, shard)
		}
	}
	return open
}

// split splits a shard in the middle, merge joins two that follow each other.
func (w *world) split(shard types.Shard) {
	from, _ := new(big.Int).SetString(*shard.HashKeyRange.StartingHashKey, 10)
	to, _ := new(big.Int).SetString(*shard.HashKeyRange.EndingHashKey, 10)
	middle := new(big.Int).Rsh(new(big.Int).Add(from, to), 1).String()
	_, err := w.Kinesis.SplitShard(w.t.Context(), &awskinesis.SplitShardInput{StreamName: &w.stream, ShardToSplit: shard.ShardId, NewStartingHashKey: &middle})
	require.NoError(w.t, err)
	w.awaitShards(3)
}

func (w *world) merge(a, b types.Shard) {
	_, err := w.Kinesis.MergeShards(w.t.Context(), &awskinesis.MergeShardsInput{StreamName: &w.stream, ShardToMerge: a.ShardId, AdjacentShardToMerge: b.ShardId})
	require.NoError(w.t, err)
	w.awaitShards(2)
}

func (w *world) awaitShards(n int) {
	harness.Await(w.t, fmt.Sprintf("%d shards are open", n), func(context.Context) error {
		if open := len(w.openShards()); open != n {
			return fmt.Errorf("%d are", open)
		}
		return nil
	})
}

// awaitRecords waits until so many records of the stream were taken.
func (w *world) awaitRecords(n int) {
	harness.Await(w.t, fmt.Sprintf("%d records are stored", n), func(context.Context) error {
		if got := w.Guard.Counters(w.t).Sum(harness.Kinesis, "PutRecords", w.stream).Records; got < n {
			return fmt.Errorf("%d are", got)
		}
		return nil
	})
}

// TestReshardingWhileAPutGoesOn: shards are split and merged under a put in key
// order. It notices, writes to the new ones, and keeps the order: a shard's
// records come before those of its children.
func TestReshardingWhileAPutGoesOn(t *testing.T) {
	w := newWorld(t, 2)
	const n, keys = 4000, 40
	var lines strings.Builder
	for i := range n {
		fmt.Fprintf(&lines, `{"n":%d,"k":"key-%d"}`+"\n", i, i%keys)
	}
	object, err := json.Marshal(w.object("lines", lines.String()))
	require.NoError(t, err)
	// At most one record of a key is out: so many answers a second keep the put
	// from ending before the shards have changed.
	slow := w.Guard.Inject(t, harness.Fault{Service: harness.Kinesis, Operation: "PutRecords", Target: w.stream, From: 20, Latency: "500ms"})
	type end struct {
		out kinesis.PutRecordsOutput
		err error
	}
	ended := make(chan end, 1)
	go func() {
		var e end
		value, err := w.activity.ExecuteActivity("Kinesis.PutObject", json.RawMessage(fmt.Sprintf(
			`{"StreamName":%q,"Object":%s,"PartitionKey":"k","Ordering":"key"}`, w.stream, object)))
		if e.err = err; err == nil {
			e.err = value.Get(&e.out)
		}
		ended <- e
	}()
	w.awaitRecords(400)
	w.split(w.openShards()[0])
	children := w.openShards()
	w.awaitRecords(700)
	w.merge(children[1], children[2])
	last := w.openShards()
	w.Guard.Clear(t, slow)
	e := <-ended
	require.NoError(t, e.err)
	require.EqualValues(t, n, e.out.StoredRecordCount)
	require.Zero(t, e.out.PossiblyDuplicated)
	for _, shard := range append(children[:1], last...) {
		require.NotZero(t, e.out.Shards[aws.ToString(shard.ShardId)], "%s is written to: %v", aws.ToString(shard.ShardId), e.out.Shards)
	}
	next := map[string]int{}
	for _, r := range w.read() { // parents have the lower IDs
		var record struct {
			N int
			K string
		}
		require.NoError(t, json.Unmarshal(r.Data, &record))
		require.Equal(t, fmt.Sprintf("key-%d", record.N%keys), record.K)
		require.Equal(t, next[record.K], record.N/keys, "%s is out of order", record.K)
		next[record.K]++
	}
	for k, count := range next {
		require.Equal(t, n/keys, count, k)
	}
	require.Len(t, next, keys)
}

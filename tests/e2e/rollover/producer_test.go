package rollover_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/producer"
)

// What add has accepted is stored once, and in order, however often the producer
// rolls over, is stopped, started and flushed meanwhile.
func TestRecordsAddedDuringARollOverAreStoredOnce(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	stream := s.NewStream(2)
	g := start(t, s, workflows.TypeProducer, workflows.ProducerID(stream), fmt.Sprintf(`{"stream":%q,"flushInterval":"100ms","batchSize":10}`, stream))
	const senders, each = 4, 25
	var next [senders]int // of each sender's records
	adds := func(sender int) func() {
		return func() {
			for range each {
				n := next[sender]
				next[sender]++
				data := base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%d/%03d", sender, n))
				m := message{"add", fmt.Sprintf(`{"records":[{"Data":%q,"PartitionKey":"key-%d"}]}`, data, sender), false}
				var answer producer.AddAnswer
				err := g.send(m, &answer)
				for refused(err) { // it is stopped
					pause()
					err = g.send(m, &answer)
				}
				if err != nil || answer.Accepted != 1 {
					t.Errorf("%+v: %+v, %v", m, answer, err)
				}
			}
		}
	}
	others := func() {
		for range 6 {
			for _, m := range []message{{"stop", `{}`, false}, {"start", `{}`, false}, {"flush", `{"wait":"10s"}`, false}} {
				if err := g.send(m, nil); err != nil {
					t.Errorf("%+v: %v", m, err)
				}
			}
		}
	}
	times := g.storm(5, adds(0), adds(1), adds(2), adds(3), others)
	harness.Await(t, "all is sent", func(context.Context) error {
		var answer producer.FlushAnswer // comes early when a run ends
		if err := g.send(message{"flush", `{"wait":"30s"}`, false}, &answer); err != nil {
			return err
		}
		if answer.Remaining > 0 {
			return fmt.Errorf("%d remain", answer.Remaining)
		}
		return nil
	})

	var want [senders][]string
	for sender := range want {
		for n := range times * each {
			want[sender] = append(want[sender], fmt.Sprintf("%d/%03d", sender, n))
		}
	}
	require.Equal(t, want, stored[[senders][]string](t, s, stream, func(all *[senders][]string, r types.Record) {
		var sender int
		_, err := fmt.Sscanf(*r.PartitionKey, "key-%d", &sender)
		require.NoError(t, err)
		all[sender] = append(all[sender], string(r.Data))
	}))
	require.NoError(t, s.Client.CancelWorkflow(t.Context(), g.id, ""))
	ctx, cancel := patient(t)
	defer cancel()
	var canceled *temporal.CanceledError
	require.True(t, errors.As(s.Client.GetWorkflow(ctx, g.id, "").Get(ctx, nil), &canceled))
}

// stored reads all that a stream holds, shard by shard.
func stored[A any](t *testing.T, s *harness.Stack, stream string, add func(*A, types.Record)) (all A) {
	t.Helper()
	shards, err := s.Kinesis.ListShards(t.Context(), &kinesis.ListShardsInput{StreamName: &stream})
	require.NoError(t, err)
	for _, shard := range shards.Shards {
		i, err := s.Kinesis.GetShardIterator(t.Context(), &kinesis.GetShardIteratorInput{StreamName: &stream,
			ShardId: shard.ShardId, ShardIteratorType: types.ShardIteratorTypeTrimHorizon})
		require.NoError(t, err)
		page, err := s.Kinesis.GetRecords(t.Context(), &kinesis.GetRecordsInput{ShardIterator: i.ShardIterator})
		require.NoError(t, err)
		for _, r := range page.Records {
			add(&all, r)
		}
	}
	return all
}

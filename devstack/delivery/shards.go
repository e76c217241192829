package delivery

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
)

// shardsEvery is how often new shards are looked for.
const shardsEvery = 2 * time.Second

// followShards reads each shard that it finds, closed ones to their end.
func (d *Delivery) followShards(ctx context.Context, readers *sync.WaitGroup) {
	known := map[string]bool{}
	for attempt := 0; ctx.Err() == nil; {
		shards, err := d.shards(ctx)
		if err != nil {
			d.failed(err)
			wait(ctx, min(delayAfter(attempt), time.Second))
			attempt++
			continue
		}
		attempt = 0
		for _, id := range shards {
			if !known[id] {
				known[id] = true
				readers.Go(func() { d.readShard(ctx, id) })
			}
		}
		d.note(func(s *Status) { s.Shards = len(known) })
		wait(ctx, shardsEvery)
	}
}

func (d *Delivery) shards(ctx context.Context) ([]string, error) {
	var ids []string
	in := &kinesis.ListShardsInput{StreamName: &d.cfg.Stream}
	for {
		out, err := d.clients.Streams.ListShards(ctx, in)
		if err != nil {
			return nil, err
		}
		for _, shard := range out.Shards {
			ids = append(ids, *shard.ShardId)
		}
		if out.NextToken == nil {
			return ids, nil
		}
		in = &kinesis.ListShardsInput{NextToken: out.NextToken}
	}
}

// readShard hands on all records of a shard, until it is closed and read or ctx
// ends. last is what it has handed on, in case the place must be found again.
func (d *Delivery) readShard(ctx context.Context, id string) {
	last := d.progress.after(id)
	var iterator *string
	for attempt := 0; ctx.Err() == nil; {
		var err error
		if iterator == nil {
			iterator, err = d.iterator(ctx, id, last)
		}
		var out *kinesis.GetRecordsOutput
		if err == nil {
			out, err = d.clients.Streams.GetRecords(ctx, &kinesis.GetRecordsInput{ShardIterator: iterator})
		}
		if err != nil {
			var throttled *types.ProvisionedThroughputExceededException
			if !errors.As(err, &throttled) {
				iterator = nil // expired, or of a stream that is gone
			}
			d.failed(err)
			wait(ctx, delayAfter(attempt))
			attempt++
			continue
		}
		attempt = 0
		if len(out.Records) > 0 {
			b := batch{shard: id, last: *out.Records[len(out.Records)-1].SequenceNumber}
			for _, r := range out.Records {
				b.records = append(b.records, r.Data)
			}
			select {
			case d.batches <- b:
				last = b.last
			case <-ctx.Done():
				return
			}
		}
		if iterator = out.NextShardIterator; iterator == nil {
			return // closed and read
		}
		if len(out.Records) == 0 {
			wait(ctx, d.cfg.PollInterval)
		}
	}
}

func (d *Delivery) iterator(ctx context.Context, id, last string) (*string, error) {
	in := &kinesis.GetShardIteratorInput{StreamName: &d.cfg.Stream, ShardId: aws.String(id), ShardIteratorType: types.ShardIteratorTypeTrimHorizon}
	if last != "" {
		in.ShardIteratorType, in.StartingSequenceNumber = types.ShardIteratorTypeAfterSequenceNumber, &last
	}
	out, err := d.clients.Streams.GetShardIterator(ctx, in)
	if err != nil {
		return nil, err
	}
	return out.ShardIterator, nil
}

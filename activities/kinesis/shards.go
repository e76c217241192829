package kinesis

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"sluice/activities"
	"sluice/internal/recordbatch"
)

const (
	// shardsFresh is how long a list of shards is taken for true while a stream
	// is in use; a record that lies elsewhere than expected ends that at once.
	shardsFresh = time.Minute
	// unknownShards stand in where a stream's can't be listed: as many as requests
	// may be in flight.
	unknownShards = 32
	// shardsAgain is the least time between two lists.
	shardsAgain = time.Second
)

// shardWatch is what a stream knows of when its shards were listed.
type shardWatch struct {
	listing  bool
	listedAt time.Time
}

// prepare sees that the stream's shards are known before anything is queued. A
// stream that isn't there is NotFound. Where shards may not be listed, or can't
// be just now, records go without a pace by shard.
func (s *stream) prepare(ctx context.Context) error {
	s.mu.Lock()
	known := s.queue != nil
	if known {
		s.watch(false)
	}
	s.mu.Unlock()
	if known {
		return nil
	}
	// Calls that begin together ask the service once.
	opened := s.opening.DoChan("", func() (any, error) {
		listing, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.k.Settings.RequestTimeout)
		defer cancel()
		return nil, s.open(listing)
	})
	select {
	case result := <-opened:
		return result.Err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// open makes the queue for the stream's shards as they are now.
func (s *stream) open(ctx context.Context) error {
	shards, err := s.list(ctx)
	if outcome := outcomeOf(err); outcome.Kind == recordbatch.Denied && outcome.Type == activities.TypeNotFound {
		return deniedError(s.name, outcome, nil)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.queue != nil {
		return nil
	}
	set := s.settings()
	if err != nil {
		s.k.Logger.Warn("the shards of "+s.name.String()+" can't be listed: no pace is kept", "error", brief(err.Error()))
		shards, set.Shard = recordbatch.EvenShards(unknownShards), recordbatch.Pace{}
	}
	s.shards.listedAt = time.Now()
	s.queue = recordbatch.NewQueue(set, shards, time.Now())
	return nil
}

// watch lists the shards again when the list is old, or as soon as may be when the
// stream was resharded. It is called with mu held.
func (s *stream) watch(moved bool) {
	age := time.Since(s.shards.listedAt)
	if s.shards.listing || !moved && age < shardsFresh {
		return
	}
	s.shards.listing = true
	// What was just listed is not what it will be, as the stream moves on meanwhile.
	time.AfterFunc(max(0, shardsAgain-age), s.relist)
}

// relist lists the shards, and tells the queue where what met a resharding lies.
func (s *stream) relist() {
	ctx, cancel := context.WithTimeout(context.Background(), s.k.Settings.RequestTimeout)
	defer cancel()
	shards, err := s.list(ctx)
	if err != nil {
		shards = nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = shardWatch{listedAt: time.Now()}
	for _, request := range s.queue.Located(shards, time.Now()) {
		s.settle(request, recordbatch.Outcome{})
		s.queue.Release(request)
	}
	if err == nil {
		s.queue.SetShards(shards, time.Now())
	}
	s.pump()
	s.wakeLine()
}

// list asks the service for the open shards.
func (s *stream) list(ctx context.Context) (recordbatch.ShardMap, error) {
	var open []recordbatch.Shard
	input := &awskinesis.ListShardsInput{}
	if s.name.name != "" {
		input.StreamName = &s.name.name
	}
	if s.name.arn != "" {
		input.StreamARN = &s.name.arn
	}
	for {
		page, err := s.k.API.ListShards(ctx, input)
		if err != nil {
			return nil, err
		}
		for _, shard := range page.Shards {
			if shard.SequenceNumberRange != nil && shard.SequenceNumberRange.EndingSequenceNumber != nil {
				continue // closed by a resharding
			}
			o, err := openShard(shard)
			if err != nil {
				return nil, err
			}
			open = append(open, o)
		}
		if aws.ToString(page.NextToken) == "" {
			return recordbatch.NewShardMap(open)
		}
		input = &awskinesis.ListShardsInput{NextToken: page.NextToken}
	}
}

func openShard(shard types.Shard) (recordbatch.Shard, error) {
	if shard.HashKeyRange == nil {
		return recordbatch.Shard{}, errors.New("a shard without a range of hash keys")
	}
	from, err1 := recordbatch.ParseHashKey(aws.ToString(shard.HashKeyRange.StartingHashKey))
	to, err2 := recordbatch.ParseHashKey(aws.ToString(shard.HashKeyRange.EndingHashKey))
	if err := errors.Join(err1, err2); err != nil {
		return recordbatch.Shard{}, fmt.Errorf("shard %s: %w", aws.ToString(shard.ShardId), err)
	}
	return recordbatch.Shard{ID: aws.ToString(shard.ShardId), From: from, To: to}, nil
}

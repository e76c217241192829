package guard

import (
	"context"
	"encoding/json"
	"math/big"
	"net/http"
	"sync"
	"time"

	"sluice/devstack/guard/rules"
)

// A stream is its open shards and their budgets.
type stream struct {
	shards rules.Shards
	mu     sync.Mutex
	meters map[string]*shardMeter
}

type shardMeter struct{ records, bytes *rules.Bucket }

// admit takes a record's share of its shard's budgets, or answers that the shard
// is full. A stream or a hash that isn't there is left for kinesalite to refuse.
func (s *stream) admit(r record, l KinesisLimits) (rules.Shard, bool) {
	if s == nil {
		return rules.Shard{}, false
	}
	shard, found := s.shards.Find(rules.HashOf(r.PartitionKey, r.ExplicitHashKey))
	if !found {
		return shard, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	m := s.meters[shard.ID]
	perSecond, bytesPerSecond := max(l.RecordsPerSecond, 0), max(l.BytesPerSecond, 0)
	if m == nil {
		m = &shardMeter{rules.NewBucket(perSecond, perSecond, now), rules.NewBucket(bytesPerSecond, bytesPerSecond, now)}
		s.meters[shard.ID] = m
	}
	m.records.Set(perSecond, perSecond, now)
	m.bytes.Set(bytesPerSecond, bytesPerSecond, now)
	size := float64(r.size())
	if !m.records.Fits(1, now) || !m.bytes.Fits(size, now) {
		return shard, true
	}
	m.records.Take(1, now)
	m.bytes.Take(size, now)
	return shard, false
}

// streams remembers open shards; every change of them comes through the guard and
// makes it forget.
type streams struct {
	to    *upstream
	mu    sync.Mutex
	known map[string]*stream
}

func newStreams(to *upstream) *streams { return &streams{to: to, known: map[string]*stream{}} }

func (s *streams) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, name)
}

// get answers a stream, nil if kinesalite knows none of that name.
func (s *streams) get(ctx context.Context, name string) (*stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.known[name]; known != nil {
		return known, nil
	}
	status, body, err := s.to.ask(ctx, kinesisTarget+"ListShards", kinesisContent, encode(map[string]any{"StreamName": name, "MaxResults": 10000}))
	if err != nil || status != http.StatusOK {
		return nil, err
	}
	shards, err := openShards(body)
	if err != nil {
		return nil, err
	}
	made := &stream{shards: shards, meters: map[string]*shardMeter{}}
	s.known[name] = made
	return made, nil
}

func openShards(body []byte) (rules.Shards, error) {
	var listed struct {
		Shards []struct {
			ShardID             string `json:"ShardId"`
			HashKeyRange        struct{ StartingHashKey, EndingHashKey string }
			SequenceNumberRange struct{ EndingSequenceNumber string }
		}
	}
	if err := json.Unmarshal(body, &listed); err != nil {
		return nil, err
	}
	var open []rules.Shard
	for _, shard := range listed.Shards {
		start, ok := new(big.Int).SetString(shard.HashKeyRange.StartingHashKey, 10)
		end, fine := new(big.Int).SetString(shard.HashKeyRange.EndingHashKey, 10)
		if ok && fine && shard.SequenceNumberRange.EndingSequenceNumber == "" {
			open = append(open, rules.Shard{ID: shard.ShardID, Start: start, End: end})
		}
	}
	return rules.SortShards(open), nil
}

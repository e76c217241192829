package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"math/big"
	"net/http"
	"sync"
	"time"

	"sluice/devstack/guard/rules"
)

const (
	kinesisTarget  = "Kinesis_20131202."
	kinesisContent = "application/x-amz-json-1.1"
)

// kinesis adds the limits of shards and requests to kinesalite, knows streams by
// ARN, and takes requests larger than kinesalite does.
type kinesis struct {
	to       *upstream
	limits   *limits
	counters *counters
	streams  *streams
}

func newKinesis(to *upstream, limits *limits, counters *counters) *kinesis {
	return &kinesis{to: to, limits: limits, counters: counters, streams: newStreams(to)}
}

// target is what a Kinesis request says about the stream.
type kinesisStream struct {
	StreamName *string
	StreamARN  string
}

func (k *kinesis) identify(c *call) error {
	if err := identifyJSON(c); err != nil {
		return err
	}
	var stream kinesisStream
	if c.operation == "PutRecords" || c.operation == "PutRecord" {
		// The records are looked at later, if at all.
		if name, found := quickName(c.body); found {
			c.target = name
			return nil
		}
	}
	if err := json.Unmarshal(c.body, &stream); err != nil {
		return err
	}
	if stream.StreamName != nil {
		c.target = *stream.StreamName
		return nil
	}
	if stream.StreamARN == "" {
		return nil
	}
	c.target = nameOf(stream.StreamARN, "stream")
	in, err := parse(c.body)
	if err != nil {
		return err
	}
	delete(in, "StreamARN") // kinesalite knows none
	in.set("StreamName", c.target)
	c.body = encode(in)
	return nil
}

func (k *kinesis) work(ctx context.Context, c *call) (*answer, error) {
	ctx = context.WithoutCancel(ctx)
	switch c.operation {
	case "PutRecords":
		return k.putRecords(ctx, c)
	case "PutRecord":
		return k.putRecord(ctx, c)
	case "CreateStream", "DeleteStream", "SplitShard", "MergeShards":
		defer k.streams.forget(c.target)
	}
	return k.to.send(ctx, c, c.body)
}

func (k *kinesis) refuse(c *call, status int, code, message string) *answer {
	return refuseJSON(c, kinesisContent, "", status, code, message)
}

// putRecord passes one record on if its shard has room.
func (k *kinesis) putRecord(ctx context.Context, c *call) (*answer, error) {
	record, err := readRecord(c.body)
	if err != nil {
		return k.to.send(ctx, c, c.body)
	}
	stream, err := k.streams.get(ctx, c.target)
	if err != nil {
		return nil, err
	}
	shard, full := stream.admit(record, k.limits.get().Kinesis)
	if full {
		c.count(Count{Throttled: 1, RecordsRefused: 1})
		return k.refuse(c, http.StatusBadRequest, throughputExceeded, rateExceeded(shard, c.target)), nil
	}
	a, err := k.to.send(ctx, c, c.body)
	if err == nil && a.status == http.StatusOK {
		c.count(Count{Records: 1})
	}
	return a, err
}

const throughputExceeded = "ProvisionedThroughputExceededException"

func rateExceeded(shard rules.Shard, stream string) string {
	return fmt.Sprintf("Rate exceeded for shard %s in stream %s under account 000000000000.", shard.ID, stream)
}

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

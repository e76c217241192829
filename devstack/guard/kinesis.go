package guard

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

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

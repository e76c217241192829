package soak

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"

	"sluice/tests/harness"
)

// driver carries a plan out. It runs on the test's own goroutine.
type driver struct {
	t     testing.TB
	s     *harness.Stack
	slots []slot
	gone  []*harness.Process // that were told to end
	// stream is the one whose shards are moved; "" moves none.
	stream string
	did    map[Kind]int
}

// A slot is a place for a worker: how to start one, and the one that is there.
type slot struct {
	start func() *harness.Process
	now   *harness.Process
}

func newDriver(t testing.TB, s *harness.Stack, starts ...func() *harness.Process) *driver {
	d := &driver{t: t, s: s, did: map[Kind]int{}}
	for _, start := range starts {
		d.slots = append(d.slots, slot{start, start()})
	}
	return d
}

// run carries out the plan until it is over.
func (d *driver) run(ctx context.Context, plan []Fault) {
	began := time.Now()
	for _, f := range plan {
		// The time of a fault is what is tried here, not a wait.
		select {
		case <-time.After(time.Until(began.Add(f.At))):
		case <-ctx.Done():
			return
		}
		d.t.Log(f)
		d.do(ctx, f)
		d.did[f.Kind]++
	}
}

func (d *driver) do(ctx context.Context, f Fault) {
	place := &d.slots[f.Worker%len(d.slots)]
	switch f.Kind {
	case Kill:
		place.now.Kill()
		place.now = place.start()
	case Terminate:
		place.now.Signal(syscall.SIGTERM)
		d.gone = append(d.gone, place.now)
		place.now = place.start()
	case Freeze:
		frozen := place.now
		frozen.Signal(syscall.SIGSTOP)
		time.AfterFunc(f.For, func() { frozen.Signal(syscall.SIGCONT) })
	case KillServer:
		d.s.RestartTemporal()
	case MoveShards:
		if err := d.moveShards(ctx, f.Call); err != nil {
			d.t.Logf("the shards stay: %v", err)
		}
	default:
		calls := serviceFaults[f.Kind]
		fault := calls[f.Call%len(calls)]
		fault.For = f.For.String()
		d.s.Guard.Inject(d.t, fault)
	}
}

// serviceFaults are those that each kind can be. Answers are lost of calls that workers
// make: a producer of messages that sends one twice would make two tasks.
var serviceFaults = map[Kind][]harness.Fault{
	LoseAnswer: {
		{Service: harness.DynamoDB, Operation: "PutItem", Drop: "answer", Count: 2},
		{Service: harness.Kinesis, Operation: "PutRecords", Drop: "answer", Count: 2},
		{Service: harness.DynamoDB, Operation: "UpdateItem", Drop: "answer", Count: 2},
		{Service: harness.AzQueue, Operation: "GetMessages", Drop: "answer", Count: 2},
		{Service: harness.DynamoDB, Operation: "TransactWriteItems", Drop: "answer", Count: 2},
		{Service: harness.SQS, Operation: "DeleteMessageBatch", Drop: "answer", Count: 2},
		{Service: harness.DynamoDB, Operation: "BatchWriteItem", Drop: "answer", Count: 2},
		{Service: harness.AzQueue, Operation: "DeleteMessage", Drop: "answer", Count: 2},
		{Service: harness.S3, Operation: "GetObject", Drop: "answer", Count: 2},
	},
	Throttle: {
		{Service: harness.DynamoDB, Operation: "PutItem", Status: 400, Code: "ProvisionedThroughputExceededException"},
		{Service: harness.Kinesis, Operation: "PutRecords", Status: 400, Code: "ProvisionedThroughputExceededException"},
		{Service: harness.S3, Operation: "GetObject", Status: 503, Code: "SlowDown"},
		{Service: harness.DynamoDB, Operation: "UpdateItem", Status: 400, Code: "ThrottlingException"},
	},
	FailParts: {
		{Service: harness.Kinesis, Operation: "PutRecords", Entries: []harness.FaultEntry{{Index: aws.Int(0)}, {Index: aws.Int(3)}}},
		{Service: harness.DynamoDB, Operation: "BatchWriteItem", Entries: []harness.FaultEntry{{Index: aws.Int(1)}}},
	},
	Expire: {
		{Service: harness.DynamoDB, Status: 400, Code: "ExpiredTokenException"},
		{Service: harness.Kinesis, Status: 400, Code: "ExpiredTokenException"},
		{Service: harness.S3, Status: 400, Code: "ExpiredToken"},
		{Service: harness.SQS, Status: 403, Code: "ExpiredToken"},
	},
	Refuse: {
		{Service: harness.DynamoDB, Status: 500, Code: "InternalServerError"},
		{Service: harness.Kinesis, Status: 503, Code: "ServiceUnavailable"},
		{Service: harness.AzQueue, Operation: "GetMessages", Status: 503, Code: "ServerBusy"},
		{Service: harness.S3, Status: 503, Code: "ServiceUnavailable"},
		{Service: harness.SQS, Status: 503, Code: "ServiceUnavailable"},
	},
}

// moveShards splits the first open shard in two, or merges the first two that lie side
// by side where there are many.
func (d *driver) moveShards(ctx context.Context, call int) error {
	if d.stream == "" {
		return errors.New("there is no stream")
	}
	listed, err := d.s.Kinesis.ListShards(ctx, &kinesis.ListShardsInput{StreamName: &d.stream})
	if err != nil {
		return err
	}
	type shard struct {
		id          string
		first, last *big.Int
	}
	var open []shard
	for _, s := range listed.Shards {
		if s.SequenceNumberRange.EndingSequenceNumber == nil {
			first, _ := new(big.Int).SetString(*s.HashKeyRange.StartingHashKey, 10)
			last, _ := new(big.Int).SetString(*s.HashKeyRange.EndingHashKey, 10)
			open = append(open, shard{*s.ShardId, first, last})
		}
	}
	for _, a := range open {
		for _, b := range open {
			if len(open) > 3 && new(big.Int).Add(a.last, big.NewInt(1)).Cmp(b.first) == 0 {
				_, err = d.s.Kinesis.MergeShards(ctx, &kinesis.MergeShardsInput{StreamName: &d.stream, ShardToMerge: &a.id, AdjacentShardToMerge: &b.id})
				return err
			}
		}
	}
	if len(open) == 0 {
		return fmt.Errorf("%s has no open shard", d.stream)
	}
	one := open[call%len(open)]
	middle := new(big.Int).Rsh(new(big.Int).Add(one.first, one.last), 1)
	_, err = d.s.Kinesis.SplitShard(ctx, &kinesis.SplitShardInput{StreamName: &d.stream, ShardToSplit: &one.id, NewStartingHashKey: aws.String(middle.String())})
	return err
}

// end stops all workers and answers those that did not end well. One that was frozen
// may have been told to end: it goes on first.
func (d *driver) end() (left []string) {
	for _, place := range d.slots {
		place.now.Signal(syscall.SIGCONT)
		place.now.Signal(syscall.SIGTERM)
		d.gone = append(d.gone, place.now)
	}
	for _, p := range d.gone {
		p.Signal(syscall.SIGCONT)
		if code := p.Wait(d.t, time.Minute); code > 0 {
			left = append(left, fmt.Sprintf("%s %d ended with %d", p.Name, p.Pid(), code))
		}
	}
	d.gone, d.slots = nil, nil
	return left
}

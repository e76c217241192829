package main

import (
	"context"
	"crypto/md5"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"google.golang.org/protobuf/encoding/protowire"

	"sluice/internal/recordbatch"
)

// a8m does what github.com/a8m/kinesis-producer does, with its defaults, on the SDK
// that we use. That module is not built into the benchmark: it brings an SDK and a
// logger of its own, and is not to be had everywhere. What it is taken for:
// requests of 500 records or 5 MiB, gathered by one loop from a channel of 500;
// 24 requests in flight whatever the keys in them; what a request refused is sent
// again by it after a pause, so that order is lost; and, aggregated, records of up
// to 50 KB made of whatever comes next, under the first one's key, so that the
// others lie on its shard and not on their own. Its aggregates are written here by
// hand, which is faster than its encoder.
type a8m struct {
	client    *awskinesis.Client
	lists     [][]recordbatch.Record
	aggregate bool
}

const (
	a8mRequestRecords = 500
	a8mRequestBytes   = 5 << 20
	a8mAggregateBytes = 51200
	a8mConnections    = 24
	a8mFlushInterval  = 5 * time.Second
	// a8mCallers put one record at a time; more of them only wait for each other.
	a8mCallers = 4
)

// a8mEntry is a record on its way, and how many of the caller's it holds.
type a8mEntry struct {
	types.PutRecordsRequestEntry
	holds int64
}

func (a *a8m) send(ctx context.Context) (int64, error) {
	p := &a8mProducer{a8m: a, entries: make(chan a8mEntry, a8mRequestRecords), requests: make(chan []a8mEntry)}
	var connections sync.WaitGroup
	for range a8mConnections {
		connections.Go(p.connection)
	}
	var loop sync.WaitGroup
	loop.Go(p.loop)
	_, err := together(a8mCallers, func(i int) (int64, error) {
		for n := 0; ctx.Err() == nil; n++ {
			p.put(&a.lists[i][n%len(a.lists[i])])
		}
		return 0, nil
	})
	p.drain()
	close(p.entries)
	loop.Wait()
	close(p.requests)
	connections.Wait()
	return p.stored.Load(), err
}

type a8mProducer struct {
	*a8m
	mu       sync.Mutex
	held     []*recordbatch.Record
	bytes    int
	entries  chan a8mEntry
	requests chan []a8mEntry
	stored   atomic.Int64
}

// put takes a record; it waits while all connections are busy.
func (p *a8mProducer) put(r *recordbatch.Record) {
	if !p.aggregate {
		p.entries <- a8mEntry{types.PutRecordsRequestEntry{Data: r.Data, PartitionKey: &r.Key}, 1}
		return
	}
	p.mu.Lock()
	full := a8mEntry{}
	if p.bytes+r.Size() > a8mAggregateBytes {
		full = p.join()
	}
	p.held = append(p.held, r)
	p.bytes += r.Size() + 8
	p.mu.Unlock()
	if full.holds > 0 {
		p.entries <- full
	}
}

// drain sends what is held.
func (p *a8mProducer) drain() {
	if len(p.held) > 0 {
		p.entries <- p.join()
	}
}

// join makes one record of those held: the first one's key stands for all.
func (p *a8mProducer) join() a8mEntry {
	message := append(make([]byte, 0, p.bytes+4096), "\xf3\x89\x9a\xc2"...)
	message = protowire.AppendString(protowire.AppendTag(message, 1, protowire.BytesType), p.held[0].Key)
	for _, r := range p.held {
		size := 2 + protowire.SizeTag(3) + protowire.SizeBytes(len(r.Data))
		message = protowire.AppendVarint(protowire.AppendTag(message, 3, protowire.BytesType), uint64(size))
		message = protowire.AppendVarint(protowire.AppendTag(message, 1, protowire.VarintType), 0)
		message = protowire.AppendBytes(protowire.AppendTag(message, 3, protowire.BytesType), r.Data)
	}
	sum := md5.Sum(message[4:])
	entry := a8mEntry{types.PutRecordsRequestEntry{Data: append(message, sum[:]...), PartitionKey: &p.held[0].Key}, int64(len(p.held))}
	p.held, p.bytes = p.held[:0], 0
	return entry
}

// loop gathers requests.
func (p *a8mProducer) loop() {
	tick := time.NewTicker(a8mFlushInterval)
	defer tick.Stop()
	var request []a8mEntry
	bytes := 0
	flush := func() {
		if len(request) > 0 {
			p.requests <- request
			request, bytes = make([]a8mEntry, 0, a8mRequestRecords), 0
		}
	}
	for {
		select {
		case entry, more := <-p.entries:
			if !more {
				flush()
				return
			}
			size := len(entry.Data) + len(*entry.PartitionKey)
			if bytes+size > a8mRequestBytes {
				flush()
			}
			request = append(request, entry)
			if bytes += size; len(request) == a8mRequestRecords {
				flush()
			}
		case <-tick.C:
			flush()
		}
	}
}

// connection sends one request after the other.
func (p *a8mProducer) connection() {
	for request := range p.requests {
		for len(request) > 0 {
			request = p.try(request)
		}
	}
}

// try sends a request and gives back what was refused. A call that fails is given
// up, as by its default.
func (p *a8mProducer) try(request []a8mEntry) (refused []a8mEntry) {
	records := make([]types.PutRecordsRequestEntry, len(request))
	for i := range request {
		records[i] = request[i].PutRecordsRequestEntry
	}
	out, err := p.client.PutRecords(context.Background(), &awskinesis.PutRecordsInput{StreamName: aws.String(streamName), Records: records})
	if err != nil {
		return nil
	}
	for i := range out.Records {
		if out.Records[i].ErrorCode != nil {
			refused = append(refused, request[i])
			continue
		}
		p.stored.Add(request[i].holds)
	}
	return refused
}

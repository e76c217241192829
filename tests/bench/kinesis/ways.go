package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"go.temporal.io/sdk/log"

	"sluice"
	"sluice/activities/kinesis"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
)

const (
	streamName   = "bench"
	recordSize   = 200
	largeSize    = 1024
	keyCount     = 1000
	callSize     = 2500 // records of a PutRecords call: about 700 KiB of JSON
	smallCall    = 31   // records of a small one, of which smallCallers are made at once
	smallCallers = 256
	callers      = 32 // PutRecords calls at once, which share the producer
)

// A sender sends records until ctx ends and says how many were stored.
type sender func(ctx context.Context) (int64, error)

// The ways of sending.
const (
	wayOriginal   = "original"
	wayBare8      = "bare8"
	wayBare24     = "bare24"
	wayA8m        = "a8m24"
	wayA8mJoined  = "a8mAggregate24"
	wayHandJSON   = "handJSON24"
	wayHandCBOR   = "handCBOR8"
	wayOurs       = "ours"
	wayOursKey    = "oursKey"
	wayOursCBOR   = "oursCBOR"
	wayOursJoined = "oursAggregate"
	wayOursSmall  = "oursSmallCalls"
)

// newSender makes a way's sender; the records that it sends are made then.
func newSender(name, url string, size int) (sender, error) {
	switch name {
	case wayOriginal:
		return originalWay(url, size), nil
	case wayBare8:
		return bareWay(newClient(url), size, 8), nil
	case wayBare24:
		return bareWay(newClient(url), size, 24), nil
	case wayA8m, wayA8mJoined:
		return (&a8m{client: newClient(url), lists: calls(size), aggregate: name == wayA8mJoined}).send, nil
	case wayHandJSON:
		return newHandWritten(url, size, 24, "application/x-amz-json-1.1", handJSON).send, nil
	case wayHandCBOR:
		return newHandWritten(url, size, 8, "application/x-amz-cbor-1.1", handCBOR).send, nil
	case wayOurs, wayOursCBOR:
		return oursWay(url, name == wayOursCBOR, calls(size), kinesis.Destination{Ordering: wire.OrderingNone}), nil
	case wayOursKey:
		return oursWay(url, false, calls(size), kinesis.Destination{Ordering: wire.OrderingKey}), nil
	case wayOursJoined:
		return oursWay(url, false, calls(size), kinesis.Destination{Ordering: wire.OrderingNone, Aggregate: true}), nil
	case wayOursSmall:
		var lists [][]recordbatch.Record
		for _, l := range calls(size)[:smallCallers/8] {
			for i := range 8 {
				lists = append(lists, l[i*smallCall:][:smallCall])
			}
		}
		return oursWay(url, false, lists, kinesis.Destination{Ordering: wire.OrderingKey}), nil
	}
	return nil, fmt.Errorf("no way %q", name)
}

// config is what both clients are made of: the baselines' with the SDK's own
// transport, and the worker's.
func config(url string) aws.Config {
	return aws.Config{
		Region:      "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("bench", "bench", ""),
		HTTPClient: awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
			t.MaxIdleConnsPerHost = 64
		}),
		BaseEndpoint: &url,
		Retryer:      func() aws.Retryer { return aws.NopRetryer{} },
	}
}

func newClient(url string) *awskinesis.Client { return awskinesis.NewFromConfig(config(url)) }

// calls are the records that are sent again and again, made before anything is
// measured: a list for each caller. Their keys spread over all shards, so that it
// is the producer that is measured, not a hot shard's pace.
func calls(size int) [][]recordbatch.Record {
	lists := make([][]recordbatch.Record, callers)
	keys := evenKeys(keyCount)
	for c := range lists {
		lists[c] = make([]recordbatch.Record, callSize)
		for i := range lists[c] {
			lists[c][i] = recordbatch.Record{Data: text(c+i, size), Key: keys[i%len(keys)]}
		}
	}
	return lists
}

// bareEntries are the same records for the SDK, all in one list.
func bareEntries(size int) (list []types.PutRecordsRequestEntry) {
	for _, call := range calls(size) {
		for _, r := range call {
			list = append(list, types.PutRecordsRequestEntry{Data: r.Data, PartitionKey: aws.String(r.Key)})
		}
	}
	return list
}

// evenKeys are keys of which every shard has as many as the others.
func evenKeys(n int) []string {
	shards := recordbatch.EvenShards(manyShards)
	taken := make([]int, manyShards)
	var keys []string
	for i := 0; len(keys) < n; i++ {
		record := recordbatch.Record{Key: fmt.Sprintf("key-%d", i)}
		if s := shards.Find(recordbatch.HashOf(&record)); taken[s]*manyShards < n {
			taken[s]++
			keys = append(keys, record.Key)
		}
	}
	return keys
}

func text(seed, size int) []byte {
	data := make([]byte, size)
	for j := range data {
		data[j] = byte('a' + (seed+j)%26)
	}
	return data
}

// originalWay is the original's loop with its defaults: a channel of records,
// ten to a request, one request at a time.
func originalWay(url string, size int) sender {
	const batchSize, bufferSize = 10, 10000
	client, list := newClient(url), bareEntries(size)
	return func(ctx context.Context) (stored int64, err error) {
		buffer := make(chan types.PutRecordsRequestEntry, bufferSize)
		go func() {
			for i := 0; ; i++ {
				select {
				case buffer <- list[i%len(list)]:
				case <-ctx.Done():
					return
				}
			}
		}()
		for {
			batch := make([]types.PutRecordsRequestEntry, 0, batchSize)
			for len(batch) < batchSize {
				select {
				case entry := <-buffer:
					batch = append(batch, entry)
				case <-ctx.Done():
					return stored, nil
				}
			}
			n, err := putBare(ctx, client, batch)
			stored += n
			if err != nil {
				return stored, err
			}
		}
	}
}

// bareWay is the SDK by itself: callers with full requests, which go through as
// many different records as the producer does.
func bareWay(client *awskinesis.Client, size, at int) sender {
	list := bareEntries(size)
	return func(ctx context.Context) (int64, error) {
		return together(at, func(i int) (stored int64, err error) {
			for n := i * len(list) / 500 / at; ctx.Err() == nil; n++ {
				from := n * 500 % len(list)
				n, err := putBare(ctx, client, list[from:from+500])
				stored += n
				if err != nil {
					return stored, err
				}
			}
			return stored, nil
		})
	}
}

func putBare(ctx context.Context, client *awskinesis.Client, batch []types.PutRecordsRequestEntry) (int64, error) {
	out, err := client.PutRecords(ctx, &awskinesis.PutRecordsInput{StreamName: aws.String(streamName), Records: batch})
	if err != nil {
		return 0, nil //nolint:nilerr // an answer that was lost on the way: nothing is counted, and the loop goes on
	}
	return int64(len(batch)) - int64(aws.ToInt32(out.FailedRecordCount)), nil
}

// together runs n of the same and adds up.
func together(n int, one func(i int) (int64, error)) (int64, error) {
	var sum atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		group.Go(func() {
			stored, err := one(i)
			sum.Add(stored)
			errs[i] = err
		})
	}
	group.Wait()
	return sum.Load(), errors.Join(errs...)
}

// unlimited is a pace that is never reached.
var unlimited = recordbatch.Pace{Records: 1e6, Bytes: 1 << 30}

// newProducer is the worker's, with its settings but for the pace of a shard.
func newProducer(url string, shard recordbatch.Pace) *kinesis.Activities {
	settings := kinesis.DefaultSettings()
	settings.Shard = shard
	return &kinesis.Activities{API: sluice.Kinesis(config(url)), Settings: settings,
		Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil)))}
}

// oursWay is many calls at a time, as PutRecords activities make them, through the
// producer of one worker, which lives through all turns as a worker's does.
func oursWay(url string, cbor bool, lists [][]recordbatch.Record, to kinesis.Destination) sender {
	k := newProducer(url, unlimited)
	if cbor {
		k.Settings.Protocol = kinesis.ProtocolCBOR
	}
	to.StreamName, to.MaxAttempts = streamName, 10
	return func(ctx context.Context) (int64, error) {
		// The last calls come to their end, so that what is counted was stored.
		untilDone, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return together(len(lists), func(i int) (stored int64, err error) {
			for ctx.Err() == nil {
				out, err := k.Send(untilDone, to, lists[i])
				stored += out.StoredRecordCount
				if err != nil {
					return stored, err
				}
			}
			return stored, nil
		})
	}
}

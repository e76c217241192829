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
)

const (
	streamName = "bench"
	recordSize = 200
	keyCount   = 1000
	callSize   = 2500 // records of a PutRecords call: about 700 KiB of JSON
	inFlight   = 8    // requests of the bare SDK at once, as of the producer
	callers    = 32   // PutRecords calls at once, which share the producer
)

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
var calls = sync.OnceValue(func() [][]recordbatch.Record {
	lists := make([][]recordbatch.Record, callers)
	keys := evenKeys(keyCount)
	for c := range lists {
		lists[c] = make([]recordbatch.Record, callSize)
		for i := range lists[c] {
			lists[c][i] = recordbatch.Record{Data: text(c+i, recordSize), Key: keys[i%len(keys)]}
		}
	}
	return lists
})

// bareEntries are the same records for the SDK, all in one list.
var bareEntries = sync.OnceValue(func() (list []types.PutRecordsRequestEntry) {
	for _, call := range calls() {
		for _, r := range call {
			list = append(list, types.PutRecordsRequestEntry{Data: r.Data, PartitionKey: aws.String(r.Key)})
		}
	}
	return list
})

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
func originalWay(ctx context.Context, url string) (stored int64, err error) {
	const batchSize, bufferSize = 10, 10000
	client := newClient(url)
	buffer := make(chan types.PutRecordsRequestEntry, bufferSize)
	go func() {
		for i, list := 0, bareEntries(); ; i++ {
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

// bareWay is the SDK by itself: eight callers with full requests. It goes through
// as many different records as the producer does.
func bareWay(client *awskinesis.Client) func(context.Context, string) (int64, error) {
	return func(ctx context.Context, _ string) (int64, error) { return bare(ctx, client) }
}

func bare(ctx context.Context, client *awskinesis.Client) (int64, error) {
	return together(inFlight, func(i int) (stored int64, err error) {
		list := bareEntries()
		for n := i * len(list) / 500 / inFlight; ctx.Err() == nil; n++ {
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

func putBare(ctx context.Context, client *awskinesis.Client, batch []types.PutRecordsRequestEntry) (int64, error) {
	out, err := client.PutRecords(ctx, &awskinesis.PutRecordsInput{StreamName: aws.String(streamName), Records: batch})
	if err != nil {
		return 0, nil // an answer that was lost on the way: nothing is counted, and the loop goes on
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

// ours is the producer of one worker, which lives through all turns as a
// worker's does. It is made for the first URL that it is given.
type ours struct{ k *kinesis.Activities }

func newOurs() *ours { return &ours{} }

// way is many calls at a time of some thousand records each, as PutRecords
// activities make them, through the worker's producer.
func (o *ours) way(ordering string) func(context.Context, string) (int64, error) {
	return func(ctx context.Context, url string) (int64, error) {
		if o.k == nil {
			o.k = newProducer(url, unlimited)
		}
		to := kinesis.Destination{StreamName: streamName, Ordering: ordering, MaxAttempts: 10}
		// The last calls come to their end, so that what is counted was stored.
		untilDone, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return together(callers, func(i int) (stored int64, err error) {
			list := calls()[i]
			for ctx.Err() == nil {
				out, err := o.k.Send(untilDone, to, list)
				stored += out.StoredRecordCount
				if err != nil {
					return stored, err
				}
			}
			return stored, nil
		})
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/testsuite"

	"sluice/activities/kinesis"
	"sluice/activities/s3"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
)

// objectLines of lineBytes each are streamed by one PutObject.
const (
	objectLines = 1_000_000
	lineBytes   = 210
)

// madeObject is an object of lines that are made while they are read, so that
// the object itself takes no memory of this process.
type madeObject struct{ next, left int }

func (o *madeObject) OpenObject(_ context.Context, object s3.Object, _ int64) (io.ReadCloser, s3.Object, error) {
	object.ETag, object.Size = "v1", objectLines*lineBytes
	return io.NopCloser(&madeObject{left: objectLines}), object, nil
}

func (o *madeObject) Read(p []byte) (int, error) {
	n := 0
	for o.left > 0 && len(p)-n >= lineBytes {
		line := p[n : n+lineBytes]
		for i := range line {
			line[i] = 'x'
		}
		copy(line, `{"id":`)
		copy(line[6:], strconv.Itoa(o.next))
		line[lineBytes-1] = '\n'
		n += lineBytes
		o.next++
		o.left--
	}
	if n == 0 && o.left == 0 {
		return 0, io.EOF
	}
	if n == 0 {
		return 0, io.ErrShortBuffer
	}
	return n, nil
}

// objectMemory streams a large object and watches the process's memory.
func objectMemory(ctx context.Context, r *report) error {
	url, stop, err := startEndpoint(ctx, manyShards, 0, false)
	if err != nil {
		return err
	}
	defer stop()
	k := newProducer(url, unlimited)
	k.Objects = &madeObject{}
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	env.SetTestTimeout(5 * time.Minute)
	env.RegisterActivity(k.PutObject)
	debug.FreeOSMemory()
	before := resident()
	var peak atomic.Int64
	watching, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		for watching.Err() == nil {
			peak.Store(max(peak.Load(), resident()))
			time.Sleep(20 * time.Millisecond)
		}
	}()
	started := time.Now()
	value, err := env.ExecuteActivity(k.PutObject, json.RawMessage(`{"StreamName":"bench","Object":{"bucket":"b","key":"k"}}`))
	if err != nil {
		return err
	}
	var out kinesis.PutRecordsOutput
	if err := value.Get(&out); err != nil {
		return err
	}
	if out.StoredRecordCount != objectLines {
		return fmt.Errorf("an object of %d lines: %d stored", objectLines, out.StoredRecordCount)
	}
	r.Object.Lines = out.StoredRecordCount
	r.Object.ExtraMiB = round(float64(peak.Load()-before) / (1 << 20))
	fmt.Printf("an object of %d lines (%d MB) in %s, %.1f MiB more memory\n", objectLines, objectLines*lineBytes/1_000_000,
		time.Since(started).Round(time.Second), r.Object.ExtraMiB)
	return nil
}

// resident is the memory that this process has, in bytes.
func resident() int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.Sys - m.HeapReleased)
	}
	pages, _ := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	return pages * int64(os.Getpagesize())
}

// shardLimits sends more than four limited shards take, and sees what they took.
func shardLimits(ctx context.Context, r *report) error {
	const shards, size, settle, measured = 4, 4000, 3 * time.Second, 12 * time.Second
	url, stop, err := startEndpoint(ctx, shards, 5*time.Millisecond, true)
	if err != nil {
		return err
	}
	defer stop()
	k := newProducer(url, kinesis.DefaultSettings().Shard)
	sending, cancel := context.WithCancel(ctx)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := together(callers, func(c int) (int64, error) {
			list := make([]recordbatch.Record, 500)
			for i := range list {
				list[i] = recordbatch.Record{Data: text(i, size), Key: fmt.Sprint(c, "-", i)}
			}
			to := kinesis.Destination{StreamName: streamName, Ordering: wire.OrderingNone, MaxAttempts: 1000}
			for sending.Err() == nil {
				if _, err := k.Send(sending, to, list); err != nil && sending.Err() == nil {
					return 0, err
				}
			}
			return 0, nil
		})
		done <- err
	}()
	time.Sleep(settle)
	before, err := figuresOf(url)
	if err != nil {
		return err
	}
	started := time.Now()
	time.Sleep(measured)
	after, err := figuresOf(url)
	elapsed := time.Since(started)
	cancel()
	if err := firstOf(err, <-done); err != nil {
		return err
	}
	r.Shards.Busy = round(float64(after.Bytes-before.Bytes) / elapsed.Seconds() / (shards * shardBytes))
	r.Shards.Refused = round(float64(after.Refused) / float64(after.Refused+after.Records))
	fmt.Printf("four shards of 1 MiB/s: %.1f %% busy, %.2f %% of %d records refused\n", 100*r.Shards.Busy, 100*r.Shards.Refused, after.Records)
	return nil
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

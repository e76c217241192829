package main

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// runFor is how long each way of sending is measured.
const runFor = 4 * time.Second

// manyShards are enough that no shard's own limit is reached at the speeds
// measured, while every record's shard is found and paced all the same.
const manyShards = 1024

// measurement is what one way of sending did.
type measurement struct {
	name    string
	records int64
	elapsed time.Duration
	cpu     time.Duration
	mallocs uint64
}

func (m measurement) perSecond() float64 { return float64(m.records) / m.elapsed.Seconds() }
func (m measurement) perCPU() float64    { return float64(m.records) / m.cpu.Seconds() }
func (m measurement) perRecord() float64 { return float64(m.mallocs) / float64(m.records) }

func (m measurement) print(latency time.Duration) {
	fmt.Printf("%-34s %6s %12.0f %14.0f %10.2f\n", m.name, latency, m.perSecond(), m.perCPU(), m.perRecord())
}

// A way sends records until ctx ends and says how many were stored.
type way func(ctx context.Context, url string) (int64, error)

// measure runs a way against an endpoint, after a short run to warm up.
func measure(ctx context.Context, name, url string, send way) (measurement, error) {
	bareEntries()
	warm, cancel := context.WithTimeout(ctx, runFor/8)
	_, err := send(warm, url)
	cancel()
	if err != nil {
		return measurement{}, fmt.Errorf("%s: %w", name, err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu, started := cpuTime(), time.Now()
	timed, cancel := context.WithTimeout(ctx, runFor)
	defer cancel()
	records, err := send(timed, url)
	m := measurement{name: name, records: records, elapsed: time.Since(started), cpu: cpuTime() - cpu}
	runtime.ReadMemStats(&after)
	m.mallocs = after.Mallocs - before.Mallocs
	if err == nil && records == 0 {
		err = fmt.Errorf("%s stored nothing", name)
	}
	return m, err
}

// cpuTime is what this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// speeds compares the three ways at 5 ms and at no latency.
func speeds(ctx context.Context, r *report) error {
	fmt.Printf("%-34s %6s %12s %14s %10s\n", "200-byte records", "at", "records/s", "per CPU second", "allocs")
	for _, latency := range []time.Duration{5 * time.Millisecond, 0} {
		url, stop, err := startEndpoint(ctx, manyShards, latency, false)
		if err != nil {
			return err
		}
		defer stop()
		original, err := measure(ctx, "original: 10 a request, 1 in flight", url, originalWay)
		if err != nil {
			return err
		}
		bare, err := measure(ctx, "bare SDK: 500 a request, 8 in flight", url, bareWay)
		if err != nil {
			return err
		}
		ours, err := measure(ctx, "ours: PutRecords calls", url, ourWay("none"))
		if err != nil {
			return err
		}
		for _, m := range []measurement{original, bare, ours} {
			m.print(latency)
		}
		if latency > 0 {
			r.Latency5ms = against{round(ours.perSecond() / original.perSecond()), round(ours.perSecond() / bare.perSecond())}
		} else {
			r.PerCPU = against{round(ours.perCPU() / original.perCPU()), round(ours.perCPU() / bare.perCPU())}
			r.AllocsPerRecord = round(ours.perRecord())
		}
	}
	return nil
}

// order compares key order with none, with 1,000 keys at no latency.
func order(ctx context.Context, r *report) error {
	url, stop, err := startEndpoint(ctx, manyShards, 0, false)
	if err != nil {
		return err
	}
	defer stop()
	none, err := measure(ctx, "ours: Ordering none, 1,000 keys", url, ourWay("none"))
	if err != nil {
		return err
	}
	key, err := measure(ctx, "ours: Ordering key, 1,000 keys", url, ourWay("key"))
	if err != nil {
		return err
	}
	none.print(0)
	key.print(0)
	r.KeyOrdering = round(key.perSecond() / none.perSecond())
	return nil
}

func round(x float64) float64 { return float64(int64(x*1000+0.5)) / 1000 }

package main

import (
	"context"
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// The ways take turns, rounds times for turn each, so that a machine that grows
// slow or fast meanwhile favours none of them.
const (
	rounds = 6
	turn   = time.Second
)

// manyShards is a middling stream's number. Their pace is set so high that it is
// never reached, while every record's shard is found and paced all the same.
const manyShards = 64

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
type way struct {
	name string
	send func(ctx context.Context, url string) (int64, error)
}

// measure runs the ways in turn against an endpoint, after a turn each to warm up.
func measure(ctx context.Context, url string, ways ...way) ([]measurement, error) {
	bareEntries()
	sums := make([]measurement, len(ways))
	for round := range rounds + 1 {
		for i, w := range ways {
			m, err := w.run(ctx, url)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", w.name, err)
			}
			if round > 0 {
				sums[i].add(m)
			}
		}
	}
	for i, w := range ways {
		sums[i].name = w.name
		if sums[i].records == 0 {
			return nil, fmt.Errorf("%s stored nothing", w.name)
		}
	}
	return sums, nil
}

// run is one turn.
func (w way) run(ctx context.Context, url string) (measurement, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	cpu, started := cpuTime(), time.Now()
	timed, cancel := context.WithTimeout(ctx, turn)
	defer cancel()
	records, err := w.send(timed, url)
	m := measurement{records: records, elapsed: time.Since(started), cpu: cpuTime() - cpu}
	runtime.ReadMemStats(&after)
	m.mallocs = after.Mallocs - before.Mallocs
	return m, err
}

func (m *measurement) add(o measurement) {
	m.records += o.records
	m.elapsed += o.elapsed
	m.cpu += o.cpu
	m.mallocs += o.mallocs
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
		measured, err := measure(ctx, url,
			way{"original: 10 a request, 1 in flight", originalWay},
			way{"bare SDK: 500 a request, 8 in flight", bareWay(newClient(url))},
			way{"ours: PutRecords calls", newOurs().way("none")})
		if err != nil {
			return err
		}
		for _, m := range measured {
			m.print(latency)
		}
		original, bare, ours := measured[0], measured[1], measured[2]
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
	measured, err := measure(ctx, url, way{"ours: Ordering none, 1,000 keys", newOurs().way("none")},
		way{"ours: Ordering key, 1,000 keys", newOurs().way("key")})
	if err != nil {
		return err
	}
	none, key := measured[0], measured[1]
	none.print(0)
	key.print(0)
	r.KeyOrdering = round(key.perSecond() / none.perSecond())
	return nil
}

func round(x float64) float64 { return float64(int64(x*1000+0.5)) / 1000 }

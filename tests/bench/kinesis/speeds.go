package main

import (
	"context"
	"fmt"
	"math"
	"time"
)

// manyShards is a middling stream's number. Their pace is set so high that it is
// never reached, while every record's shard is found and paced all the same.
const manyShards = 64

// latencies are those of the endpoint's answers.
var latencies = []time.Duration{0, 5 * time.Millisecond, 20 * time.Millisecond}

// A beside is ours ÷ a peer: records a second, and records a second of processor.
type beside struct {
	Rate   float64 `json:"rate"`
	PerCPU float64 `json:"perCPU"`
}

// comparisons is, by peer and latency, what ours does beside it.
type comparisons map[string]map[string]beside

func (c comparisons) add(peer string, latency time.Duration, ours, theirs measurement) {
	if c[peer] == nil {
		c[peer] = map[string]beside{}
	}
	c[peer][milliseconds(latency)] = beside{round(ours.perSecond() / theirs.perSecond()), round(ours.perCPU() / theirs.perCPU())}
}

func milliseconds(d time.Duration) string { return fmt.Sprintf("%dms", d.Milliseconds()) }

// peers names which of ours a peer is set beside: the defaults, but for
// aggregation and CBOR, which are set beside their like.
var peers = map[string]string{
	wayBare8: wayOurs, wayBare24: wayOurs, wayA8m: wayOurs, wayHandJSON: wayOurs,
	wayA8mJoined: wayOursJoined, wayHandCBOR: wayOursCBOR,
}

// allWays are those measured with small records; largeWays with records of 1 KiB.
var (
	allWays = []string{wayOriginal, wayOurs, wayBare8, wayBare24, wayA8m, wayHandJSON, wayOursKey, wayOursJoined, wayA8mJoined,
		wayOursCBOR, wayHandCBOR, wayOursSmall}
	largeWays = []string{wayOurs, wayBare8, wayBare24, wayA8m, wayOursKey}
)

// speeds compares all ways at every latency.
func speeds(ctx context.Context, o options, r *report) error {
	r.Peers, r.LargePeers = comparisons{}, comparisons{}
	for _, latency := range o.latencies {
		small, err := o.contest(allWays, recordSize).measure(ctx, latency, r.Peers)
		if err != nil {
			return err
		}
		r.take(latency, small)
		if !o.large {
			continue
		}
		if _, err := o.contest(largeWays, largeSize).measure(ctx, latency, r.LargePeers); err != nil {
			return err
		}
	}
	return nil
}

// take notes what the report tells of one latency by itself.
func (r *report) take(latency time.Duration, m map[string]measurement) {
	ours, hasOurs := m[wayOurs]
	if !hasOurs {
		return
	}
	original, bare, key, small := m[wayOriginal], m[wayBare8], m[wayOursKey], m[wayOursSmall]
	switch latency {
	case 0:
		r.PerCPU = against{round(ours.perCPU() / original.perCPU()), round(ours.perCPU() / bare.perCPU())}
		r.AllocsPerRecord, r.KeyAllocsPerRecord = round(ours.perRecord()), round(key.perRecord())
		r.KeyOrdering = round(key.perSecond() / ours.perSecond())
		r.SmallCallsPerSecond = round(small.perSecond())
	case 5 * time.Millisecond:
		r.Latency5ms = against{round(ours.perSecond() / original.perSecond()), round(ours.perSecond() / bare.perSecond())}
	}
}

// measure runs a contest, prints it, and sets each peer beside ours.
func (c contest) measure(ctx context.Context, latency time.Duration, into comparisons) (map[string]measurement, error) {
	if len(c.ways) == 0 {
		return nil, nil
	}
	measured, err := c.run(ctx, latency)
	if err != nil {
		return nil, err
	}
	fmt.Printf("%d-byte records, answers after %s\n", c.size, latency)
	fmt.Printf("  %-18s %12s %14s %10s %16s %10s\n", "", "records/s", "per CPU second", "allocs", "ours: records/s", "per CPU")
	for _, name := range c.ways {
		m := measured[name]
		fmt.Printf("  %-18s %12.0f %14.0f %10.2f", name, m.perSecond(), m.perCPU(), m.perRecord())
		if ours, ok := measured[peers[name]]; ok {
			into.add(name, latency, ours, m)
			b := into[name][milliseconds(latency)]
			fmt.Printf(" %16.2f %10.2f", b.Rate, b.PerCPU)
		}
		fmt.Println()
	}
	return measured, nil
}

// round is to three digits; what was not measured is 0.
func round(x float64) float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return 0
	}
	return float64(int64(x*1000+0.5)) / 1000
}

// Command kinesis measures the Kinesis producer beside its peers in one run, against
// an endpoint in a process of its own: the original's way (ten records a request,
// one request in flight), the bare SDK (full requests, 8 and 24 in flight), another
// producer (24 in flight, plain and aggregated), and programs written by hand that
// do nothing but send. It prints tables, and the figures as JSON in the last line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"slices"
	"strings"
	"time"
)

// report is the last line.
type report struct {
	Peers               comparisons `json:"peers"`
	LargePeers          comparisons `json:"peers1KiB"`
	Latency5ms          against     `json:"latency5ms"`
	PerCPU              against     `json:"perCPU"`
	KeyOrdering         float64     `json:"keyOrdering"`
	AllocsPerRecord     float64     `json:"allocsPerRecord"`
	KeyAllocsPerRecord  float64     `json:"keyAllocsPerRecord"`
	SmallCallsPerSecond float64     `json:"smallCallsPerSecond"` // records
	Object              struct {
		Lines    int64   `json:"lines"`
		ExtraMiB float64 `json:"extraMiB"`
	} `json:"object"`
	EventsPer1000 float64 `json:"eventsPer1000"`
	Shards        struct {
		Busy    float64 `json:"busy"`
		Refused float64 `json:"refused"`
	} `json:"shards"`
}

// against are ratios beside the original's way and beside the bare SDK.
type against struct {
	Ratio     float64 `json:"ratio"`
	OfBareSDK float64 `json:"ofBareSDK"`
}

// options choose a part of the whole, for whoever works on one.
type options struct {
	ways      string
	latencies []time.Duration
	rounds    int
	turn      time.Duration
	large     bool
	rest      bool
}

// contest is a contest of those of the ways that are asked for.
func (o options) contest(ways []string, size int) contest {
	c := contest{size: size, rounds: o.rounds, turn: o.turn}
	for _, w := range ways {
		if o.ways == "" || slices.Contains(strings.Split(o.ways, ","), w) {
			c.ways = append(c.ways, w)
		}
	}
	return c
}

func main() {
	log.SetFlags(0)
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	if len(args) > 0 {
		switch args[0] {
		case "endpoint":
			return serveEndpoint(args[1:])
		case "way":
			return serveWay(args[1:])
		}
	}
	o := options{latencies: latencies}
	flag.StringVar(&o.ways, "ways", "", "only these, with commas between; all by default")
	flag.IntVar(&o.rounds, "rounds", 6, "turns of each way")
	flag.DurationVar(&o.turn, "turn", time.Second, "length of a turn")
	flag.BoolVar(&o.large, "large", true, "also records of 1 KiB")
	flag.BoolVar(&o.rest, "rest", true, "also memory, limited shards and history")
	flag.Func("latency", "only answers after so long", func(s string) error {
		latency, err := time.ParseDuration(s)
		o.latencies = []time.Duration{latency}
		return err
	})
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()
	var r report
	if o.rest {
		for _, part := range []func(context.Context, *report) error{history, shardLimits, objectMemory} {
			if err := part(ctx, &r); err != nil {
				return err
			}
		}
	}
	if err := speeds(ctx, o, &r); err != nil {
		return err
	}
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}

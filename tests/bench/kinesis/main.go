// Command kinesis measures the Kinesis producer beside two baselines in one run,
// against an endpoint in a process of its own: the original's way (ten records a
// request, one request in flight) and the bare SDK (full requests, eight in
// flight). It prints a table, and the figures as JSON in the last line.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"
)

// report is the last line.
type report struct {
	Latency5ms      against `json:"latency5ms"`
	PerCPU          against `json:"perCPU"`
	KeyOrdering     float64 `json:"keyOrdering"`
	AllocsPerRecord float64 `json:"allocsPerRecord"`
	Object          struct {
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

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 && os.Args[1] == "endpoint" {
		if err := serveEndpoint(os.Args[2:]); err != nil {
			log.Fatal(err)
		}
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 8*time.Minute)
	defer cancel()
	var r report
	for _, part := range []func(context.Context, *report) error{history, shardLimits, objectMemory, speeds, order} {
		if err := part(ctx, &r); err != nil {
			log.Fatal(err)
		}
	}
	line, err := json.Marshal(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

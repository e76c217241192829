// Command dynamodb measures calls under a throttle: a table of 100 write units
// behind the guard, whose bucket holds one second, under three times as much
// demand. Ours, with one worker, four, and four of which one makes 85 % of the
// demand, stand beside the AWS SDK's standard retryer, its adaptive retryer and a
// fixed-rate limiter on the same work. What counts is read at the guard. It prints
// a table, and the figures as JSON in the last line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"sluice/tests/harness"
)

// What the table has, in units a second, and what is asked of it.
const (
	units  = 100
	demand = 3 * units
)

// figures of one way: shares of the ceiling used and of calls throttled, as
// fractions of 1.
type figures struct {
	Utilization float64 `json:"utilization"`
	Throttled   float64 `json:"throttled"`
	Failed      float64 `json:"failed,omitempty"` // of the work that came to an end
	P99Seconds  float64 `json:"p99Seconds,omitempty"`
}

// report is the last line.
type report struct {
	Workers                map[string]figures `json:"workers"`
	SDKStandard            figures            `json:"sdkStandard"`
	SDKAdaptive            figures            `json:"sdkAdaptive"`
	FixedRate              figures            `json:"fixedRate"`
	PriorityWaitRatio      float64            `json:"priorityWaitRatio"`
	LeaseEventsPerWorker5s float64            `json:"leaseEventsPerWorker5s"`
	NsPerCall              int64              `json:"nsPerCall"`
}

func main() {
	log.SetFlags(0)
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		if err := work(os.Args[2]); err != nil {
			log.Fatal(err)
		}
		return
	}
	seconds := flag.Int("seconds", 60, "length of each measurement")
	flag.Parse()
	r, err := measure(time.Duration(*seconds) * time.Second)
	if err != nil {
		log.Fatal(err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

func measure(length time.Duration) (report, error) {
	r := report{Workers: map[string]figures{}}
	ns, err := nsPerCall()
	if err != nil {
		return r, err
	}
	r.NsPerCall = ns

	p := &harness.Program{}
	defer p.Close()
	s := harness.Start(p, harness.Options{Own: true})
	s.Guard.SetLimits(p, harness.Limits{DynamoDB: &harness.DynamoDBLimits{Burst: "1s"}})
	s.StartWorker("SLUICE_LOG_LEVEL=error") // owns the budgets
	fmt.Printf("%-28s %10s %10s %8s %8s\n", "", "used", "throttled", "failed", "p99 s")
	for _, c := range []struct {
		name  string
		rates []float64
	}{
		{"1", []float64{demand}},
		{"4", []float64{demand / 4, demand / 4, demand / 4, demand / 4}},
		{"4uneven", uneven()},
	} {
		f, extra, err := ours(p, s, c.rates, length)
		if err != nil {
			return r, err
		}
		r.Workers[c.name] = f
		r.PriorityWaitRatio = max(r.PriorityWaitRatio, extra.waitRatio)
		r.LeaseEventsPerWorker5s = max(r.LeaseEventsPerWorker5s, extra.leaseEvents)
		show("ours, workers: "+c.name, f)
	}
	for _, c := range []struct {
		name string
		way  string
		into *figures
	}{
		{"SDK, standard retryer", "standard", &r.SDKStandard},
		{"SDK, adaptive retryer", "adaptive", &r.SDKAdaptive},
		{"fixed even shares", "fixed", &r.FixedRate},
	} {
		f, err := theirs(p, s, c.way, uneven(), length)
		if err != nil {
			return r, err
		}
		*c.into = f
		show(c.name, f)
	}
	fmt.Printf("priority 1 waits %.3f of priority 5; %.1f lease events per worker and 5 s; %d ns a call\n",
		r.PriorityWaitRatio, r.LeaseEventsPerWorker5s, r.NsPerCall)
	return r, nil
}

// uneven has one of four make 85 % of the demand.
func uneven() []float64 { return []float64{demand * 0.85, demand * 0.05, demand * 0.05, demand * 0.05} }

func show(name string, f figures) {
	fmt.Printf("%-28s %9.1f%% %9.2f%% %7.1f%% %8.1f\n", name, 100*f.Utilization, 100*f.Throttled, 100*f.Failed, f.P99Seconds)
}

var nsLine = regexp.MustCompile(`BenchmarkSchedulerUncontended\S*\s+\d+\s+([\d.]+) ns/op`)

// nsPerCall is the scheduler's own cost of a call that has nothing to wait for.
func nsPerCall() (int64, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "go", "test", "./activities/dynamodb/scheduler", "-run", "^$", "-bench", "SchedulerUncontended")
	cmd.Dir = harness.Root()
	out, err := cmd.CombinedOutput()
	found := nsLine.FindSubmatch(out)
	if err != nil || found == nil {
		return 0, fmt.Errorf("scheduler benchmark: %w\n%s", err, out)
	}
	ns, err := strconv.ParseFloat(string(found[1]), 64)
	return int64(ns), err
}

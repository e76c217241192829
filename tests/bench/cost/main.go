// Command cost measures Actions, which Temporal Cloud bills, on a dev stack: with the
// server's counter `action`, by action_type. All things that wait are measured side by
// side over one window, once nothing has happened to them for the threshold from which
// heartbeats are rare; each has a namespace and a worker of its own, by which the server
// counts. It prints a table, and the figures as JSON in the last line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"slices"
	"strings"
	"time"

	"sluice/tests/harness"
)

// report is the last line.
type report struct {
	IdleClaimerPerDay    float64            `json:"idleClaimerPerDay"`
	WaitingWatchPerDay   map[string]float64 `json:"waitingWatchPerDay"`
	IdleResumerPerDay    float64            `json:"idleResumerPerDay"`
	IdleCounterPerDay    float64            `json:"idleCounterPerDay"`
	IdleProducerPerDay   float64            `json:"idleProducerPerDay"`
	IdleOwnerPerDay      float64            `json:"idleOwnerPerDay"`
	LeasesPerWorkerDay   float64            `json:"leasesPerWorkerDay"`
	OwnerPerDay          float64            `json:"ownerPerDay"`
	Demo                 float64            `json:"demo"`
	PerTask              float64            `json:"perTask"`
	PerRequest           map[string]float64 `json:"perRequest"`
	WaitQueriesPerMinute float64            `json:"waitQueriesPerMinute"`
}

// bench is one run.
type bench struct {
	calm, window time.Duration
	only         []string // of the parts; none: all
	report       report
}

func main() {
	log.SetFlags(0)
	b := &bench{report: report{WaitingWatchPerDay: map[string]float64{}, PerRequest: map[string]float64{}}}
	short := flag.Bool("short", false, "shorter windows, for development")
	only := flag.String("only", "", "comma-separated parts: demo, requests, tasks, wait, idle or names of idle things")
	flag.DurationVar(&b.calm, "calm", time.Minute, "the threshold from which heartbeats are rare (workers by default: 10m)")
	flag.DurationVar(&b.window, "window", 12*time.Minute, "how long what waits is counted")
	flag.Parse()
	if *short {
		b.calm, b.window = 30*time.Second, 3*time.Minute
	}
	if *only != "" {
		b.only = strings.Split(*only, ",")
	}
	if err := b.measure(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// wants reports that a part is to be measured.
func (b *bench) wants(part string) bool { return len(b.only) == 0 || slices.Contains(b.only, part) }

func (b *bench) measure(ctx context.Context) error {
	fmt.Printf("Actions by the server's metric \"action\". What waits is counted over %v after a threshold of %v, which is ten minutes\nin a worker that is not told otherwise.\n\n", b.window, b.calm)
	fmt.Printf("%-58s %10s %10s   %s\n", "", "measured", "to reach", "of which")
	p := &harness.Program{}
	defer p.Close()
	s := harness.Start(p, harness.Options{Own: true, Args: []string{"--no-ui"}})
	from := server{s.Env("SLUICE_TEMPORAL_METRICS")}
	for _, part := range []func(context.Context, *harness.Stack, server) error{b.work, b.waits} {
		if err := part(ctx, s, from); err != nil {
			return err
		}
	}
	line, err := json.Marshal(b.report)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}

// row is a line of the table; a limit below 0 is none.
func row(what string, measured, limit float64, of actions) {
	reach := ""
	if limit >= 0 {
		reach = fmt.Sprintf("%.4g", limit)
	}
	fmt.Printf("%-58s %10.4g %10s   %s\n", what, measured, reach, of)
}

const noLimit = -1

// work measures what is counted by the piece.
func (b *bench) work(ctx context.Context, s *harness.Stack, from server) error {
	if b.wants("demo") {
		a, err := demo(ctx)
		if err != nil {
			return err
		}
		b.report.Demo = a.total()
		row("make demo", a.total(), 350, a)
	}
	if b.wants("tasks") {
		a, err := perTask(ctx, s, from)
		if err != nil {
			return err
		}
		b.report.PerTask = a.total()
		row("a claimed task whose request has one job", a.total(), 8, a)
	}
	if b.wants("requests") {
		for _, jobs := range []int{1, 10} {
			a, err := perRequest(ctx, s, from, jobs)
			if err != nil {
				return err
			}
			b.report.PerRequest[fmt.Sprint(jobs)] = a.total()
			row(fmt.Sprintf("a Request of %d jobs", jobs), a.total(), float64(3+jobs), a)
		}
	}
	if b.wants("wait") {
		a, err := waitQueries(ctx, s, from, min(b.window, 2*time.Minute))
		if err != nil {
			return err
		}
		b.report.WaitQueriesPerMinute = a.of("Query")
		row("--wait, queries a minute", a.of("Query"), 12, a)
	}
	return nil
}

// waits measures what only waits, a day of it.
func (b *bench) waits(ctx context.Context, s *harness.Stack, from server) error {
	all := slices.DeleteFunc(things(), func(t *thing) bool { return !b.wants("idle") && !b.wants(t.name) })
	if len(all) == 0 {
		return nil
	}
	if err := idle(ctx, s, from, all, b.calm, b.window); err != nil {
		return err
	}
	figures := map[string]float64{}
	for _, t := range all {
		figures[t.name] = t.figure()
		row(t.what+", a day", t.figure(), t.limit, t.counted)
		if t.name == "resumer" {
			row("  and the Schedule's own workings in this server, a day", t.counted.total()-t.figure(), noLimit, nil)
		}
		if t.name == "leases" {
			b.report.OwnerPerDay = t.counted.total() - t.figure()
			row("  and its owner, a day", b.report.OwnerPerDay, 4000, nil)
		}
	}
	b.report.IdleClaimerPerDay, b.report.IdleResumerPerDay = figures["claimer"], figures["resumer"]
	b.report.IdleCounterPerDay, b.report.IdleProducerPerDay = figures["counter"], figures["producer"]
	b.report.IdleOwnerPerDay, b.report.LeasesPerWorkerDay = figures["owner"], figures["leases"]
	for _, source := range []string{"s3", "dynamodb", "sqs", "signal"} {
		b.report.WaitingWatchPerDay[source] = figures[source]
	}
	return nil
}

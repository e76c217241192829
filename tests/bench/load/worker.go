package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sluice/tests/harness"
)

const (
	observeEvery = 5 * time.Second
	// warm is how long the worker's memory may grow: its caches fill.
	warm = 2 * time.Minute
)

// observe answers the worker's resident memory in MiB until the context is over.
func observe(ctx context.Context, w *harness.Worker) (seen []float64) {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return seen
		case <-tick.C:
			text, err := w.Scrape(ctx)
			if err != nil {
				continue
			}
			for _, bytes := range samples(text, "process_resident_memory_bytes", "") {
				seen = append(seen, bytes/(1<<20))
			}
		}
	}
}

// ends answers the medians of the first and of the last third of what was seen after
// warming up, which takes a third of a short run.
func ends(seen []float64, length time.Duration) (first, last float64) {
	seen = seen[min(len(seen), int(min(warm, length/3)/observeEvery)):]
	third := max(len(seen)/3, 1)
	if len(seen) < third {
		return 0, 0
	}
	return median(seen[:third]), median(seen[len(seen)-third:])
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// samples answers the values of a metric whose labels contain a text.
func samples(text, name, labels string) (values []float64) {
	for line := range strings.Lines(text) {
		label, value, ok := cutSample(strings.TrimSpace(line), name)
		if !ok || !strings.Contains(label, labels) {
			continue
		}
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			values = append(values, v)
		}
	}
	return values
}

func cutSample(line, name string) (labels, value string, ok bool) {
	rest, ok := strings.CutPrefix(line, name)
	if !ok || (!strings.HasPrefix(rest, "{") && !strings.HasPrefix(rest, " ")) {
		return "", "", false
	}
	at := strings.LastIndex(rest, " ")
	return rest[:at], rest[at+1:], true
}

func sum(values []float64) (total float64) {
	for _, v := range values {
		total += v
	}
	return total
}

var bound = regexp.MustCompile(`le="([0-9.e+]+)"`)

// tasks reads how long workflow tasks took, by the SDK's own histogram of the time that
// a worker executes one, and what the worker said.
func (r *report) tasks(ctx context.Context, w *harness.Worker) error {
	const executed = "temporal_workflow_task_execution_latency_seconds"
	text, err := w.Scrape(ctx)
	if err != nil {
		return err
	}
	within, quick := 0.0, ""
	for _, match := range bound.FindAllStringSubmatch(text[max(0, strings.Index(text, executed+"_bucket")):], -1) {
		if le, err := strconv.ParseFloat(match[1], 64); err == nil && le <= slowTask && le > within {
			within, quick = le, match[0]
		}
	}
	if quick == "" {
		return errors.New("the worker tells no " + executed)
	}
	r.WorkflowTasks = sum(samples(text, executed+"_count", ""))
	r.SlowTasks = r.WorkflowTasks - sum(samples(text, executed+"_bucket", quick))
	r.FailedTasks = sum(samples(text, "temporal_workflow_task_execution_failed_total", ""))
	logs := strings.ToLower(w.Logs())
	r.Deadlocks = strings.Count(logs, "potential deadlock") + strings.Count(logs, "tmprl1101")
	fmt.Printf("%-58s %10.0f\n", "workflow tasks", r.WorkflowTasks)
	fmt.Printf("%-58s %10.0f\n", fmt.Sprintf("  over %v s in the worker (%s)", within, executed), r.SlowTasks)
	fmt.Printf("%-58s %10.0f\n", "  failed", r.FailedTasks)
	fmt.Printf("%-58s %10d\n", "potential deadlocks in the worker's log", r.Deadlocks)
	fmt.Printf("%-58s %4.0f, %4.0f\n", "MiB of the worker, after warming up and in the end", r.FirstMiB, r.LastMiB)
	for _, name := range slices.Sorted(keys(r.P99Seconds)) {
		fmt.Printf("%-58s %10.3f\n", "seconds of an answer, 99 of 100: "+name, r.P99Seconds[name])
	}
	return nil
}

// Command requests measures requests on a dev stack of its own: the history
// events of a job, a chain of ten thousand jobs, suspending and resuming a
// thousand requests, and the replay of a long history. It prints a table, and
// the figures as JSON in the last line.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log"
	"time"

	"sluice/tests/harness"
)

// report is the last line.
type report struct {
	EventsPerJob       float64 `json:"eventsPerJob"` // workflow tasks not counted
	ChainJobs          int     `json:"chainJobs"`
	ChainSeconds       float64 `json:"chainSeconds"`
	ChainRuns          int     `json:"chainRuns"`
	Suspend1000Seconds float64 `json:"suspend1000Seconds"`
	Resume1000Seconds  float64 `json:"resume1000Seconds"`
	ReplayEvents       int     `json:"replayEvents"`
	ReplaySeconds      float64 `json:"replaySeconds"`
}

func main() {
	log.SetFlags(0)
	b := &harness.Program{}
	defer b.Close()
	s := harness.Start(b, harness.Options{Own: true})
	s.StartWorker("SLUICE_LOG_LEVEL=warn")
	jobs := s.Name("jobs")
	// Heartbeats as the SDK lets a worker send them by default. With more of them
	// the server would be measured under a thousand jobs' heartbeats.
	s.LaunchProgram("tests/jobs", "SLUICE_TASK_QUEUE="+jobs, "TEST_JOBS_HEARTBEAT=30s")
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Minute)
	defer cancel()

	var r report
	for _, measure := range []func(context.Context, *harness.Stack, string, *report) error{chain, thousand} {
		if err := measure(ctx, s, jobs, &r); err != nil {
			b.Fatal(err)
		}
	}
	show(r)
}

func show(r report) {
	fmt.Printf("%-46s %10s %10s\n", "", "measured", "target")
	for _, row := range []struct {
		what     string
		measured any
		target   string
	}{
		{"history events a job, workflow tasks left out", fmt.Sprintf("%.2f", r.EventsPerJob), "<= 7"},
		{"jobs of one chain that completed", r.ChainJobs, "10000"},
		{"  in runs", r.ChainRuns, "several"},
		{"  seconds", fmt.Sprintf("%.1f", r.ChainSeconds), ""},
		{"1,000 running requests suspended, seconds", fmt.Sprintf("%.1f", r.Suspend1000Seconds), "<= 15"},
		{"1,000 suspended requests resumed, seconds", fmt.Sprintf("%.1f", r.Resume1000Seconds), "<= 15"},
		{fmt.Sprintf("replay of %d events, seconds", r.ReplayEvents), fmt.Sprintf("%.2f", r.ReplaySeconds), "< 1"},
	} {
		fmt.Printf("%-46s %10v %10s\n", row.what, row.measured, row.target)
	}
	line, err := json.Marshal(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

// Command reach measures how far one workflow of each kind goes on a dev stack: tasks a
// second of one ClaimTasks and of four on the same queue and two workers, records a
// second of one Producer, and many requests that are suspended at once. It prints a
// table, and the figures as JSON in the last line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"

	"sluice/tests/harness"
)

// report is the last line.
type report struct {
	TasksPerSecond   map[string]float64 `json:"tasksPerSecond"` // by the number of claimers
	FourBesideOne    float64            `json:"fourBesideOne"`
	RecordsPerSecond float64            `json:"recordsPerSecond"` // of one Producer
	Suspended        int                `json:"suspended"`
	SuspendSeconds   float64            `json:"suspendSeconds"`
	ResumeSeconds    float64            `json:"resumeSeconds"`
}

func main() {
	log.SetFlags(0)
	tasks := flag.Int("tasks", 400, "tasks for each number of claimers")
	requests := flag.Int("requests", 2000, "requests suspended at once")
	flag.Parse()
	if err := measure(context.Background(), *tasks, *requests); err != nil {
		log.Fatal(err)
	}
}

func measure(ctx context.Context, tasks, requests int) error {
	p := &harness.Program{}
	defer p.Close()
	s := harness.Start(p, harness.Options{Own: true, Args: []string{"--no-ui"}})
	for range 2 {
		s.StartWorker("SLUICE_LOG_LEVEL=error")
	}
	r := report{TasksPerSecond: map[string]float64{}}
	for _, claimers := range []int{1, 4} {
		rate, err := claim(ctx, s, claimers, tasks)
		if err != nil {
			return err
		}
		r.TasksPerSecond[fmt.Sprint(claimers)] = rate
		fmt.Printf("%-58s %10.1f\n", fmt.Sprintf("tasks a second, %d claimers of one queue, two workers", claimers), rate)
	}
	r.FourBesideOne = r.TasksPerSecond["4"] / r.TasksPerSecond["1"]
	fmt.Printf("%-58s %10.2f\n", "  four beside one", r.FourBesideOne)
	var err error
	if r.RecordsPerSecond, err = produce(ctx, s); err != nil {
		return err
	}
	fmt.Printf("%-58s %10.0f\n", "records a second, one Producer", r.RecordsPerSecond)
	r.Suspended = requests
	if r.SuspendSeconds, r.ResumeSeconds, err = suspend(ctx, s, requests); err != nil {
		return err
	}
	fmt.Printf("%-58s %10.1f\n", fmt.Sprintf("seconds until %d requests that begin are suspended", requests), r.SuspendSeconds)
	fmt.Printf("%-58s %10.1f\n", "  and until they are resumed and done", r.ResumeSeconds)
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}

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
	Suspended        *suspended         `json:"suspended,omitempty"`
}

func main() {
	log.SetFlags(0)
	tasks := flag.Int("tasks", 400, "tasks for each number of claimers; 0 leaves claimers and the producer out")
	requests := flag.Int("requests", 10_000, "requests suspended at once; 0 leaves them out")
	resumed := flag.Int("resumed", 1000, "of them that are resumed, beside those that stay")
	flag.Parse()
	r := report{TasksPerSecond: map[string]float64{}}
	ctx := context.Background()
	var err error
	if *tasks > 0 {
		err = rates(ctx, &r, *tasks)
	}
	if err == nil && *requests > 0 {
		r.Suspended, err = suspend(ctx, *requests, min(*resumed, *requests))
	}
	if err != nil {
		log.Fatal(err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}

// rates measures claimers and a producer.
func rates(ctx context.Context, r *report, tasks int) error {
	p := &harness.Program{}
	defer p.Close()
	s := harness.Start(p, harness.Options{Own: true, Args: []string{"--no-ui"}})
	for range 2 {
		s.StartWorker("SLUICE_LOG_LEVEL=error")
	}
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
	return nil
}

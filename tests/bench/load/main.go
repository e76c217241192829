// Command load keeps a dev stack and one worker busy with all that Sluice does at once:
// requests that are suspended and resumed, watches, claimers, tables and streams. It
// prints a table, and the figures as JSON in the last line, and ends with 1 where the
// worker's memory grows, a workflow task takes longer than two seconds or fails, or the
// worker speaks of a potential deadlock.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"time"

	"sluice/tests/harness"
)

// sizes say how much there is at once.
type sizes struct{ requests, watches, claimers, tables, streams int }

// report is the last line.
type report struct {
	Seconds        float64            `json:"seconds"`
	Updates        int                `json:"updates"`
	P99Seconds     map[string]float64 `json:"p99Seconds"` // of update answers, by update and of all
	FirstMiB       float64            `json:"firstMiB"`   // resident, median of the first third after warming up
	LastMiB        float64            `json:"lastMiB"`    // of the last
	WorkflowTasks  float64            `json:"workflowTasks"`
	SlowTasks      float64            `json:"slowTasks"`   // of them over two seconds in the worker
	FailedTasks    float64            `json:"failedTasks"` // workflow tasks that failed
	Deadlocks      int                `json:"deadlocks"`
	FailedCalls    int                `json:"failedCalls"`
	TasksCompleted int64              `json:"tasksCompleted"`
}

func main() {
	log.SetFlags(0)
	var n sizes
	length := flag.Duration("for", 10*time.Minute, "how long the load lasts once all is begun")
	flag.IntVar(&n.requests, "requests", 1000, "requests")
	flag.IntVar(&n.watches, "watches", 100, "watches")
	flag.IntVar(&n.claimers, "claimers", 4, "claimers")
	flag.IntVar(&n.tables, "tables", 4, "tables")
	flag.IntVar(&n.streams, "streams", 4, "streams")
	flag.Parse()
	p := &harness.Program{}
	r, err := measure(context.Background(), p, n, *length)
	p.Close()
	if err != nil {
		log.Fatal(err)
	}
	line, err := json.Marshal(r)
	if err != nil {
		log.Fatal(err)
	}
	breach := r.breach()
	if breach != nil {
		log.Print(breach)
	}
	fmt.Println(string(line))
	if breach != nil {
		log.SetOutput(nothing{})
		log.Fatal()
	}
}

// nothing takes what is to be the program's last word after its last line.
type nothing struct{}

func (nothing) Write(p []byte) (int, error) { return len(p), nil }

const (
	// grown is how much more memory than after warming up is a breach: the collector
	// alone moves it by some hundredths.
	grown = 1.15
	// slowTask is how long a workflow task may take.
	slowTask = 2.0
)

// breach is what is not as it should be.
func (r *report) breach() error {
	var errs []error
	if r.LastMiB > r.FirstMiB*grown {
		errs = append(errs, fmt.Errorf("the worker's memory grew from %.0f to %.0f MiB", r.FirstMiB, r.LastMiB))
	}
	if r.SlowTasks > 0 {
		errs = append(errs, fmt.Errorf("%.0f workflow tasks took longer than %v s", r.SlowTasks, slowTask))
	}
	if r.FailedTasks > 0 {
		errs = append(errs, fmt.Errorf("%.0f workflow tasks failed", r.FailedTasks))
	}
	if r.Deadlocks > 0 {
		errs = append(errs, fmt.Errorf("the worker spoke of a potential deadlock %d times", r.Deadlocks))
	}
	if r.FailedCalls > 0 {
		errs = append(errs, fmt.Errorf("%d updates or starts failed", r.FailedCalls))
	}
	return errors.Join(errs...)
}

func measure(ctx context.Context, p *harness.Program, n sizes, length time.Duration) (*report, error) {
	s := harness.Start(p, harness.Options{Own: true, Args: []string{"--no-ui"}})
	w := s.StartWorker("SLUICE_LOG_LEVEL=warn")
	l := newLoad(s, n)
	if err := l.begin(ctx); err != nil {
		return nil, err
	}
	fmt.Printf("%d requests, %d watches, %d claimers, %d tables and %d streams have begun\n", n.requests, n.watches, n.claimers, n.tables, n.streams)
	ctx, cancel := context.WithTimeout(ctx, length)
	defer cancel()
	began := time.Now()
	memory := make(chan []float64, 1)
	go func() { memory <- observe(ctx, w) }()
	l.drive(ctx)
	r := &report{Seconds: time.Since(began).Seconds()}
	r.FirstMiB, r.LastMiB = ends(<-memory, length)
	r.P99Seconds, r.Updates, r.FailedCalls = l.answers()
	var err error
	if r.TasksCompleted, err = l.completed(context.Background()); err != nil {
		return nil, err
	}
	return r, r.tasks(context.Background(), w)
}

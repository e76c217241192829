// Command fleet measures how large a fleet one budget serves: simulated workers
// lease by the public update from one real owner on the dev stack, 10, 50, 200 and
// 1,000 of them one after the other, begun within ten seconds and watched for
// ninety; then all demand of fifty moves from one half of them to the other. What
// ten thousand would see is simulated in one process. It prints tables, and the
// figures of the real ones as JSON in the last line.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"strconv"
	"strings"
	"time"

	"sluice/tests/fleet"
	"sluice/tests/harness"
)

// figures of one fleet, from half a minute after its beginning on.
type figures struct {
	LeasesPerSecond float64 `json:"leasesPerSecond"` // over the busiest half minute
	Failed          float64 `json:"failed"`          // part of the questions that got no answer
	Granted         float64 `json:"granted"`         // mean part of the ceiling that was leased
	P95Seconds      float64 `json:"p95Seconds"`      // until an answer came
}

const (
	begin = 10 * time.Second // within which a fleet is started
	from  = 30 * time.Second // from when on it is measured
)

func main() {
	log.SetFlags(0)
	seconds := flag.Int("seconds", 90, "how long each fleet is watched")
	fleets := flag.String("fleets", "10,50,200,1000", "workers of each fleet; empty leaves them out")
	simulated := flag.String("simulated", "100,1000,10000", "workers that are simulated without a server; empty leaves that out")
	flag.Parse()
	err := simulate(*simulated)
	if err == nil && *fleets != "" {
		err = measure(*fleets, time.Duration(*seconds)*time.Second)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// sizes reads a list of numbers of workers.
func sizes(list string) (workers []int, err error) {
	for _, size := range strings.FieldsFunc(list, func(r rune) bool { return r == ',' }) {
		n, err := strconv.Atoi(size)
		if err != nil {
			return nil, err
		}
		workers = append(workers, n)
	}
	return workers, nil
}

// simulate shows fleets without a server, in a table and as JSON in a line.
func simulate(fleets string) error {
	workers, err := sizes(fleets)
	if err != nil || len(workers) == 0 {
		return err
	}
	fmt.Println("simulated without a server: demand is three times the ceiling; then a tenth of the workers dies, then the owner is away for five minutes")
	fmt.Printf("%-8s %9s %8s %9s %9s %11s %9s %14s\n", "workers", "served s", "granted", "leases/s", "fairness", "least held", "healed s", "without owner")
	out := map[string]fleet.Figures{}
	for _, n := range workers {
		f := fleet.Large(n)
		out[strconv.Itoa(n)] = f
		fmt.Printf("%-8d %9.1f %8.3f %9.2f %9.3f %11.3f %9.0f %14.3f\n", n,
			f.ServedSeconds, f.Granted, f.LeasesPerSecond, f.Fairness, f.LeastGrantedAfterLoss, f.LossHealedSeconds, f.LeastConsumedWithoutOwner)
	}
	line, err := json.Marshal(out)
	if err != nil {
		return err
	}
	fmt.Printf("%s\n\n", line)
	return nil
}

func measure(fleets string, length time.Duration) error {
	numbers, err := sizes(fleets)
	if err != nil {
		return err
	}
	p := &harness.Program{}
	defer p.Close()
	s := harness.Start(p, harness.Options{Own: true})
	owners := s.StartWorker("SLUICE_LOG_LEVEL=error") // runs the owners
	defer func() { log.Print(owners.Logs()) }()
	fmt.Printf("%-8s %9s %8s %8s %8s   %s\n", "workers", "leases/s", "failed", "granted", "p95 s", "before that: failed, p95 s, all served after s")
	out := map[string]any{}
	ctx := context.Background()
	for _, workers := range numbers {
		c, err := newCrowd(ctx, s, workers)
		if err != nil {
			return err
		}
		c.run(ctx, length)
		f, early := c.figures(from, length), c.figures(0, from)
		out[strconv.Itoa(workers)] = f
		fmt.Printf("%-8d %9.2f %8.4f %8.3f %8.3f   %.4f, %.3f, %.1f\n", workers,
			f.LeasesPerSecond, f.Failed, f.Granted, f.P95Seconds, early.Failed, early.P95Seconds, c.servedAfter().Seconds())
	}
	took, err := shift(ctx, s)
	if err != nil {
		return err
	}
	out["shiftSeconds"] = took.Seconds()
	fmt.Printf("\nall demand of 50 workers moved from one half to the other: followed after %.1f s\n", took.Seconds())
	line, err := json.Marshal(out)
	if err != nil {
		return err
	}
	fmt.Println(string(line))
	return nil
}

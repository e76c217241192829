package jobchain_test

import (
	"encoding/json"
	"fmt"
	"log"
	"time"

	"sluice/internal/jobchain"
)

// A chain of two jobs, of which the first is stopped by a suspension and goes on from its
// checkpoint under the same number, and the second gets its output.
func ExampleChain() {
	document, faults := jobchain.Parse([]byte(`{"jobs":[
		{"id":"load","activity":"Load"},
		{"id":"tell","activity":"Tell","after":["load"],"input":{"rows":{"$from":"jobs.load.rows"}}}]}`))
	if err := faults.Err(); err != nil {
		log.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	chain := jobchain.NewChain(&document, map[string]any{"id": "request/1"})
	next := func() int {
		i, _ := chain.Next(now)
		try, checkpoint := chain.Start(i, now)
		input, _, err := chain.Input(i)
		fmt.Printf("%s/%d from %s with %s %v\n", chain.Job(i).ID, try, checkpoint, input, err)
		return i
	}
	load := next()
	chain.End(load, now, jobchain.End{Kind: jobchain.Paused, Checkpoint: json.RawMessage(`40`)})
	chain.Release() // resumed
	now = now.Add(time.Minute)
	load = next()
	chain.End(load, now, jobchain.End{Output: json.RawMessage(`{"rows":100}`)})
	chain.End(next(), now, jobchain.End{})
	fmt.Println(chain.Done(), chain.Outcome())
	// Output:
	// load/1 from  with null <nil>
	// load/1 from 40 with null <nil>
	// tell/1 from  with {"rows":100} <nil>
	// true COMPLETE
}

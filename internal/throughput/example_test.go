package throughput_test

import (
	"fmt"
	"time"

	"sluice/internal/throughput"
)

// Calls go out while nothing is owed, and are charged in full when it is known what they
// cost: an expensive one makes later ones wait.
func ExampleBudget() {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	budget := throughput.NewBudget(now, time.Second)
	budget.SetRate(now, 10*throughput.Unit)
	now = now.Add(time.Second) // ten units are saved up
	budget.Charge(now, 25*throughput.Unit)
	fmt.Println(budget.Level(now), budget.Ready(now), budget.Wait(now, 0))
	now = now.Add(1500 * time.Millisecond)
	fmt.Println(budget.Level(now), budget.Ready(now))
	// Output:
	// -15 false 1.5s
	// 0 true
}

// A hundred units are divided among three workers: nobody gets less than another but by
// asking for less, and what nobody asks for is divided evenly.
func ExampleShares() {
	class := throughput.Class(throughput.DefaultPriority)
	wants := func(units throughput.Milli) (d throughput.Demand) {
		d[class] = units * throughput.Unit
		return d
	}
	fmt.Println(throughput.Shares(100*throughput.Unit, []throughput.Demand{wants(10), wants(200), wants(200)}))
	fmt.Println(throughput.Shares(100*throughput.Unit, []throughput.Demand{wants(10), wants(30)}))
	// Output:
	// [10 45 45]
	// [40 60]
}

package main

import (
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"time"

	"sluice/internal/quiescence"
)

const (
	seed = 20260102 // recorded, so that every run sees the same producers
	runs = 2000
)

// figures of one rule over all runs.
type figures struct {
	// FalseQuiet is the share of runs that fired in a gap shorter than the window
	// that the rule's numbers promise, repeats × base.
	FalseQuiet float64 `json:"falseQuiet"`
	// DelaySeconds is the mean time from the true end to the firing, over the runs
	// that fired after it.
	DelaySeconds float64 `json:"delaySeconds"`

	longGaps float64 // share of runs that fired in a gap as long as the window
}

// producer makes the arrival times of one run: bursts with exponential gaps, and
// now and then a pause of a minute or two.
func producer(r *rand.Rand) []time.Duration {
	var at time.Duration
	var arrivals []time.Duration
	for range 20 + r.IntN(40) {
		for range 1 + r.IntN(20) {
			arrivals = append(arrivals, at)
			at += time.Duration(r.ExpFloat64() * float64(2*time.Second))
		}
		gap := r.ExpFloat64() * float64(12*time.Second)
		if r.IntN(10) == 0 {
			gap += r.ExpFloat64() * float64(45*time.Second)
		}
		at += time.Duration(gap)
	}
	return arrivals
}

// simulate runs every rule over the same producers.
func simulate(r *report, out io.Writer) {
	window := time.Duration(quiescence.DefaultRule().Repeats) * quiescence.DefaultRule().Delay.After(0)
	fmt.Fprintf(out, "%d producers, seed %d; repeats 5, base 30s: a window of %s\n\n", runs, seed, window)
	fmt.Fprintf(out, "%-12s %12s %14s %18s\n", "rule", "false quiet", "delay (mean)", "fired in long gap")
	for _, rule := range []struct {
		name string
		fire func(arrivals []time.Duration, phase time.Duration) time.Duration
		into *figures
	}{
		{"default", ours(quiescence.Constant), &r.Default},
		{"constant", ours(quiescence.Constant), &r.Constant},
		{"inverse", ours(quiescence.Inverse), &r.Inverse},
		{"exponential", ours(quiescence.Exponential), &r.Exponential},
		{"original", original, &r.Original},
	} {
		*rule.into = over(rule.fire, window)
		fmt.Fprintf(out, "%-12s %11.1f%% %13.1fs %17.1f%%\n", rule.name, 100*rule.into.FalseQuiet, rule.into.DelaySeconds, 100*rule.into.longGaps)
	}
}

func over(fire func([]time.Duration, time.Duration) time.Duration, window time.Duration) figures {
	r := rand.New(rand.NewPCG(seed, seed))
	var f figures
	var after int
	for range runs {
		arrivals := producer(r)
		fired := fire(arrivals, time.Duration(r.Int64N(int64(30*time.Second))))
		end := arrivals[len(arrivals)-1]
		if fired >= end {
			after++
			f.DelaySeconds += (fired - end).Seconds()
			continue
		}
		n := count(arrivals, fired)
		if arrivals[n]-arrivals[n-1] < window {
			f.FalseQuiet++
		} else {
			f.longGaps++
		}
	}
	f.FalseQuiet /= runs
	f.longGaps /= runs
	f.DelaySeconds /= float64(max(after, 1))
	return f
}

// count is how many arrivals there were until an instant.
func count(arrivals []time.Duration, at time.Duration) int {
	n, _ := slices.BinarySearchFunc(arrivals, at, func(a, at time.Duration) int {
		if a <= at {
			return -1
		}
		return 1
	})
	return n
}

// ours fires by the rule of Quiescence, polling from phase on.
func ours(strategy string) func([]time.Duration, time.Duration) time.Duration {
	rule := quiescence.DefaultRule()
	rule.Delay.Strategy = strategy
	return func(arrivals []time.Duration, phase time.Duration) time.Duration {
		start := time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)
		var state quiescence.State
		for at := phase; ; at = state.NextPollAt.Sub(start) {
			n := int64(count(arrivals, at))
			now := start.Add(at)
			state.Observe(rule, quiescence.Reading{Version: strconv.FormatInt(n, 10), Count: n, Present: n > 0}, now, now)
			if state.Decide(rule, now) != "" {
				return at
			}
		}
	}
}

// original is the observer as its authors wrote it: it looks at the number of
// repeats before it reads, and compares numbers.
func original(arrivals []time.Duration, phase time.Duration) time.Duration {
	const most, delay = 5, 30 * time.Second
	repeated, last := 0, 0
	for at := phase; ; at += delay {
		if repeated >= most {
			return at
		}
		if n := count(arrivals, at); n == last {
			repeated++
		} else {
			repeated, last = 0, n
		}
	}
}

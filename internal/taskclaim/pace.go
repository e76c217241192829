package taskclaim

import "time"

// A Pace is how long an idle claimer waits between two sweeps of its queues.
type Pace struct {
	Interval time.Duration // after the first sweep that found nothing
	Max      time.Duration // no wait is longer
}

// minWait keeps a claimer with interval 0 from spinning.
const minWait = 100 * time.Millisecond

// Wait is how long to wait after empty sweeps in a row found nothing: at once
// after one that found work, else growing by half each time up to Max, less up
// to a fifth at random, so that claimers do not poll in step.
func (p Pace) Wait(empty int, random float64) time.Duration {
	if empty <= 0 {
		return 0
	}
	wait := max(p.Interval, minWait)
	for i := 1; i < empty && wait < p.Max; i++ {
		wait += wait / 2
	}
	wait = max(minWait, min(wait, p.Max))
	return wait - time.Duration(random*float64(wait)/5)
}

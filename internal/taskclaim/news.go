package taskclaim

import "time"

// A report of the polling activity to its workflow costs three history events
// (scheduled, started, completed) and the three of a workflow task. What was
// started is told within two seconds, by one report for all of it. Errors and
// poison, which may come and go all day, are paid from an allowance that keeps an
// idle claimer under a hundred events a day, all counted: (18+24)/3 reports of six
// make 84.
const (
	reportCost  = 3.0
	perHour     = 1.0            // events earned by an hour
	FirstCredit = 6 * reportCost // what a new claimer may spend at once
	creditLimit = 6 * reportCost // what it can save up

	settle        = 2 * time.Second        // other news is collected this long before it is told
	startedSettle = 300 * time.Millisecond // and what was started
	urgentSettle  = 500 * time.Millisecond
	betweenStarts = 1500 * time.Millisecond // from report to report of what was started
)

// Credit is the allowance in history events.
type Credit struct {
	Events float64   `json:"events"`
	At     time.Time `json:"at"`
}

// Earn returns the credit at now.
func (c Credit) Earn(now time.Time) Credit {
	hours := max(0, now.Sub(c.At).Hours())
	if c.At.IsZero() {
		hours = 0
	}
	return Credit{Events: min(creditLimit, c.Events+hours*perHour), At: now}
}

// Spend returns the credit after one report of other news.
func (c Credit) Spend() Credit {
	c.Events -= reportCost
	return c
}

// Affords reports whether the credit pays for a report.
func (c Credit) Affords() bool { return c.Events >= reportCost }

// News is what the polling activity has not yet told its workflow.
type News struct {
	Started bool          // a task
	Other   bool          // something else a person would want to see: an error, a poisoned message
	Urgent  bool          // what the workflow must act on: a task lost
	Age     time.Duration // of the oldest of it
	Quiet   time.Duration // since the last report
}

// Due reports whether to tell it now.
func (n News) Due(c Credit) bool {
	switch {
	case n.Urgent && n.Age >= urgentSettle:
		return true
	case n.Started && n.Age >= startedSettle && n.Quiet >= betweenStarts:
		return true
	default:
		return n.Other && n.Age >= settle && c.Affords()
	}
}

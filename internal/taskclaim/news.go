package taskclaim

import "time"

// A report of the polling activity to its workflow costs three history events
// (scheduled, started, completed) and the three of a workflow task, so small
// reports are paid from an allowance: it keeps a claimer under eight events per
// 32 tasks, workflow tasks not counted, however the tasks trickle in, and an idle
// one under a hundred a day, all counted: (18+24)/3 reports of six make 84.
const (
	reportCost   = 3.0
	perTask      = 0.2             // events earned by a task: 6.4 per 32
	perHour      = 1.0             // and by an hour
	FirstCredit  = 6 * reportCost  // what a new claimer may spend at once
	creditLimit  = 6 * reportCost  // what it can save up
	FullReport   = 32              // started tasks that are reported in any case
	settle       = 2 * time.Second // news is collected this long before it is told
	urgentSettle = 500 * time.Millisecond
)

// Credit is the allowance in history events.
type Credit struct {
	Events float64   `json:"events"`
	At     time.Time `json:"at"`
}

// Earn returns the credit at now, after this many more tasks were started.
func (c Credit) Earn(now time.Time, tasks int) Credit {
	hours := max(0, now.Sub(c.At).Hours())
	if c.At.IsZero() {
		hours = 0
	}
	return Credit{Events: min(creditLimit, c.Events+hours*perHour+float64(tasks)*perTask), At: now}
}

// Spend returns the credit after one report. It may go below nothing for a
// report that could not wait.
func (c Credit) Spend() Credit {
	c.Events -= reportCost
	return c
}

// Affords reports whether the credit pays for a report.
func (c Credit) Affords() bool { return c.Events >= reportCost }

// News is what the polling activity has not yet told its workflow.
type News struct {
	Started int           // tasks started
	Other   bool          // something else a person would want to see: an error, a poisoned message
	Urgent  bool          // what the workflow must act on: a task lost, the end
	Age     time.Duration // of the oldest of it
}

// Due reports whether to tell it now.
func (n News) Due(c Credit) bool {
	switch {
	case n.Urgent:
		return n.Age >= urgentSettle
	case n.Started >= FullReport && n.Age >= settle, n.Started >= 8*FullReport:
		return true
	case n.Started > 0 || n.Other:
		return n.Age >= settle && c.Affords()
	default:
		return false
	}
}

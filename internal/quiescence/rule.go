package quiescence

import (
	"time"

	"sluice/internal/document"
	"sluice/internal/duration"
)

// mostRepeats bounds what Window has to add up.
const mostRepeats = 1_000_000

// A Rule says what counts as quiet.
type Rule struct {
	// Repeats is the number of successive polls that find nothing new. Each is
	// one delay after the one before, so that a target is quiet at the earliest
	// Delay.Window(Repeats) after the poll that saw its last change.
	Repeats int   `json:"repeats"`
	Delay   Delay `json:"delay"`
	// QuietFor is a length of time that must have passed since the last change as
	// well, not counting the time in which we could not look. 0: none.
	QuietFor duration.Duration `json:"quietFor"`
	// MinRecords is the count below which nothing is quiet. With 0 a target in
	// which nothing ever appeared falls quiet too.
	MinRecords int64 `json:"minRecords"`
	// Expected is the count that ends the watch at once. 0: none.
	Expected int64 `json:"expected"`
	// StartBy is the instant by which something must have been seen, and Deadline
	// the one at which the watch ends whatever goes on. Zero: none.
	StartBy  time.Time `json:"startBy"`
	Deadline time.Time `json:"deadline"`
}

// DefaultRule is quiet after five unchanged polls, thirty seconds apart.
func DefaultRule() Rule {
	return Rule{Repeats: 5, Delay: DefaultDelay(), MinRecords: 1}
}

// Check adds the faults of r.
func (r Rule) Check(faults *document.Faults) {
	switch {
	case r.Repeats < 0 || r.Repeats > mostRepeats:
		faults.Add("repeats", "%d is not within 0 and %d", r.Repeats, mostRepeats)
	case r.Repeats == 0 && r.QuietFor == 0 && r.Expected == 0:
		faults.Add("repeats", "0 needs quietFor or expected, else the first poll would end the watch")
	}
	r.Delay.Check(faults, "delay")
	if r.MinRecords < 0 {
		faults.Add("minRecords", "%d is negative", r.MinRecords)
	}
	if r.Expected < 0 {
		faults.Add("expected", "%d is negative", r.Expected)
	}
}

// needed is how many unchanged polls it takes: at least one, since a single look
// tells nothing about change.
func (r Rule) needed() int { return max(r.Repeats, 1) }

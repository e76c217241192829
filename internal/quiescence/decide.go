package quiescence

import "time"

// Phases of a watch.
const (
	Waiting  = "WAITING"  // nothing was seen yet
	Flowing  = "FLOWING"  // the last poll saw a change
	Settling = "SETTLING" // it did not
	Done     = "DONE"
)

// Reasons for the end of a generation.
const (
	ReasonQuiet      = "quiet"
	ReasonExpected   = "expected"
	ReasonDeadline   = "deadline"
	ReasonNotStarted = "notStarted"
	ReasonForced     = "forced"  // by `finish`
	ReasonStopped    = "stopped" // by `stop`
)

// Phase is where the watch stands.
func (s *State) Phase() string {
	switch {
	case s.Idle:
		return Done
	case !s.Started:
		return Waiting
	case s.Repeats == 0:
		return Flowing
	default:
		return Settling
	}
}

// Decide tells why the generation is over as of now, or "" when it is not. What
// a poll found counts before the time that it took.
func (s *State) Decide(rule Rule, now time.Time) string {
	switch {
	case s.Idle:
		return ""
	case s.reached(rule):
		return ReasonExpected
	case s.quiet(rule):
		return ReasonQuiet
	default:
		return s.overdue(rule, now)
	}
}

// overdue tells which of the rule's instants has passed. The deadline goes first:
// it holds whether anything came or not.
func (s *State) overdue(rule Rule, now time.Time) string {
	switch {
	case s.Idle:
		return ""
	case !rule.Deadline.IsZero() && !now.Before(rule.Deadline):
		return ReasonDeadline
	case !s.Started && !rule.StartBy.IsZero() && !now.Before(rule.StartBy):
		return ReasonNotStarted
	default:
		return ""
	}
}

// Wake is when there is something to do next: the poll, or one of the rule's
// instants that comes before it.
func (s *State) Wake(rule Rule) time.Time {
	wake := s.NextPollAt
	if s.Idle {
		return wake
	}
	if !rule.Deadline.IsZero() && rule.Deadline.Before(wake) {
		wake = rule.Deadline
	}
	if !s.Started && !rule.StartBy.IsZero() && rule.StartBy.Before(wake) {
		wake = rule.StartBy
	}
	return wake
}

// reached reports the expected total. A later generation had it already.
func (s *State) reached(rule Rule) bool {
	return rule.Expected > 0 && s.Generation <= 1 && s.Polls > 0 && s.Count >= rule.Expected
}

// quiet reports that the rule's conditions hold together.
func (s *State) quiet(rule Rule) bool {
	return s.InARow == 0 && s.Polls > 0 && s.enough(rule) &&
		s.Repeats >= rule.needed() && s.Credit >= rule.QuietFor.Std() &&
		(rule.Repeats > 0 || rule.QuietFor > 0)
}

// enough reports that there is something to be quiet. A backlog must have been
// above 0 once; a later generation had its minimum already, and what follows the
// first quiet may well take objects away.
func (s *State) enough(rule Rule) bool {
	if rule.MinRecords == 0 || s.Generation > 1 {
		return true
	}
	if s.Gauge {
		return s.Started
	}
	return s.Count >= rule.MinRecords
}

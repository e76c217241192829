package quiescence

import "time"

// The quietFor clock counts time in which we would have seen a change. It runs
// from the end of a poll that saw one (from the start of one that saw none, which
// vouches for the time up to there only) until the next poll, but no longer than
// until that poll was due: what lies beyond is our own outage. A failed poll, or one
// that hung, stops it until the next success, and a long poll that found no change
// stops it for as long as it took.

// Hanging is from when on a call hangs: whatever holds it up may hold up the writers
// as well.
const Hanging = 5 * time.Second

// credit adds the time that a poll beginning at began vouches for.
func (s *State) credit(began time.Time) {
	if !s.Mark.IsZero() {
		until := began
		if !s.NextPollAt.IsZero() && until.After(s.NextPollAt) {
			until = s.NextPollAt
		}
		if until.After(s.Mark) {
			s.Credit += until.Sub(s.Mark)
		}
	}
	s.Mark = began
}

// schedule sets the next poll: a delay after the end of the last one, earlier
// where only the quiet time is missing and runs out before.
func (s *State) schedule(rule Rule) {
	pause := rule.Delay.After(s.Repeats)
	if s.Idle {
		pause = rule.Delay.After(0) // nothing to hurry for
	} else if s.InARow > 0 {
		pause = s.backOff(rule, pause)
	} else if left, ok := s.quietLeft(rule); ok && s.Repeats+1 >= rule.needed() && left < pause {
		pause = max(left, rule.Delay.shortest())
	}
	s.NextPollAt = s.LastPollAt.Add(pause)
}

// backOff doubles the pause with each failure in a row, up to the longest one.
func (s *State) backOff(rule Rule, pause time.Duration) time.Duration {
	for i := 1; i < s.InARow && pause < rule.Delay.Longest(); i++ {
		pause *= 2
	}
	return min(pause, rule.Delay.Longest())
}

// quietLeft is how much quiet time is missing as of the end of the last poll.
func (s *State) quietLeft(rule Rule) (left time.Duration, ok bool) {
	if rule.QuietFor == 0 || s.Mark.IsZero() {
		return 0, false
	}
	return rule.QuietFor.Std() - s.Credit - s.LastPollAt.Sub(s.Mark), true
}

// QuietAt is the earliest instant at which the target can be found quiet if
// nothing changes and every poll succeeds; zero where the count is still too low
// for it or nothing was seen.
func (s *State) QuietAt(rule Rule) time.Time {
	if s.Polls == 0 || s.Idle || !s.enough(rule) {
		return time.Time{}
	}
	at := s.NextPollAt
	for i := s.Repeats + 1; i < rule.needed() && i < s.Repeats+1000; i++ {
		at = at.Add(rule.Delay.After(i))
	}
	if rule.QuietFor > 0 {
		from := s.Mark
		if from.IsZero() {
			from = s.NextPollAt // the clock stands until then
		}
		if quiet := from.Add(rule.QuietFor.Std() - s.Credit); quiet.After(at) {
			at = quiet
		}
	}
	return at
}

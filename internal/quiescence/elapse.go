package quiescence

import "time"

// mostTicks bounds the ticks that Elapse takes one by one, so that a workflow
// task that catches up on weeks stays short.
const mostTicks = 100_000

// Elapse takes in the ticks up to now of a target that tells of its changes
// itself: no news until a tick is a successful poll without a change at that
// tick. It stops early when a tick ends the generation.
func (s *State) Elapse(rule Rule, now time.Time) {
	same := Reading{Version: s.Version, Count: s.Count, Present: s.Started}
	for range mostTicks {
		tick := s.NextPollAt
		if s.Polls == 0 || tick.After(now) || s.Decide(rule, tick) != "" {
			return
		}
		s.Observe(rule, same, tick, tick)
	}
	s.skip(rule, now)
}

// skip takes in the remaining ticks at once. After so many the pause between them
// no longer changes.
func (s *State) skip(rule Rule, now time.Time) {
	if s.NextPollAt.After(now) {
		return
	}
	pause := rule.Delay.After(s.Repeats)
	ticks := int(now.Sub(s.NextPollAt)/pause) + 1
	s.Repeats += ticks
	s.Polls += int64(ticks)
	s.LastPollAt = s.NextPollAt.Add(time.Duration(ticks-1) * pause)
	s.credit(s.LastPollAt)
	s.schedule(rule)
}

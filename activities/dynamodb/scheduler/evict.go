package scheduler

import (
	"slices"
	"time"
)

const (
	accountIdle = 10 * time.Minute // of an account that nobody uses
	hotIdle     = 2 * time.Minute  // of a hot key's
	evictEvery  = 10 * time.Second
)

// evict drops the accounts that nobody has used for long, with their lines: calls
// name tables and keys, and a worker must not remember every name it ever heard.
func (s *Scheduler) evict(now time.Time) {
	if now.Sub(s.evicted) < evictEvery {
		return
	}
	s.evicted = now
	for name, a := range s.accounts {
		idle := accountIdle
		if a.hot() {
			idle = hotIdle
		}
		if a.leasing || now.Sub(a.used) < idle || a.waiting.Total() > 0 || a.line.inFlight > 0 || a.owes(now) {
			continue
		}
		delete(s.accounts, name)
		if a.hot() {
			if s.hot[name.Resource]--; s.hot[name.Resource] == 0 {
				delete(s.hot, name.Resource)
			}
		}
		s.leaveLines(a)
	}
}

func (a *account) owes(now time.Time) bool {
	_, limited := a.budget.Rate()
	return limited && a.budget.Level(now) < 0
}

// leaveLines takes an account out of the lines of calls that needed it; none waits.
func (s *Scheduler) leaveLines(a *account) {
	for _, l := range a.lines {
		l.groups = slices.DeleteFunc(l.groups, func(g *group) bool { return slices.Contains(g.accounts, a) && g.queue.Len() == 0 })
	}
	for _, other := range s.accounts {
		other.lines = slices.DeleteFunc(other.lines, func(l *line) bool { return l == a.line })
	}
}

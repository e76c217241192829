package scheduler

import (
	"time"

	"sluice/internal/throughput"
)

// A group is the calls of a line that need the same accounts.
type group struct {
	accounts []*account
	queue    throughput.Queue[*Ticket]
}

func (g *group) ready(now time.Time) bool {
	for _, a := range g.accounts {
		if !a.ready(now) {
			return false
		}
	}
	return true
}

// hot reports that the group's calls are held back for one of their keys.
func (g *group) hot() bool {
	for _, a := range g.accounts {
		if a.hot() {
			return true
		}
	}
	return false
}

// crowded reports that so many calls wait for a hot key here that more would keep
// those of other keys out.
func (g *group) crowded(slots int) bool { return g.hot() && g.queue.Len() >= slots/8 }

// groupFor finds or makes the group of calls that need these accounts.
func (l *line) groupFor(charges []accountCharge) *group {
	for _, g := range l.groups {
		if g.has(charges) {
			return g
		}
	}
	g := &group{}
	for _, c := range charges {
		g.accounts = append(g.accounts, c.account)
		c.account.joined(l)
	}
	l.groups = append(l.groups, g)
	return g
}

func (g *group) has(charges []accountCharge) bool {
	if len(g.accounts) != len(charges) {
		return false
	}
	for i, c := range charges {
		if g.accounts[i] != c.account {
			return false
		}
	}
	return true
}

package scheduler

import (
	"time"

	"sluice/internal/throughput"
)

// mostHotKeys bounds the keys of which a worker keeps an account.
const mostHotKeys = 1000

// hot reports that this is the account of one key, which the service takes less of
// than the table has: a partition takes so much a second, and a key is on one. Such
// an account is the worker's own: it learns by throttles how much goes through, and
// is forgotten with them.
func (a *account) hot() bool { return a.key != "" }

// follow lets a hot key's rate be what its learned ceiling is at now.
func (a *account) follow(now time.Time) {
	if !a.hot() {
		return
	}
	if units, limited := a.ceiling.In(now); limited {
		a.budget.SetRate(now, units)
	} else {
		a.budget.SetUnlimited(now)
	}
}

// withHotKeys adds the accounts of hot keys that the request is for.
func (s *Scheduler) withHotKeys(charges []accountCharge, r throughput.Request, now time.Time) []accountCharge {
	for _, c := range charges {
		if s.hot[c.account.resource] == 0 {
			continue
		}
		name, ok := s.keyOf(c.account.resource, r)
		if !ok {
			continue
		}
		if a := s.accounts[name]; a != nil {
			a.used = now
			charges = append(charges, accountCharge{a, c.units})
		}
	}
	return charges
}

// keyOf is the account of the key that a request is for on a table or index.
func (s *Scheduler) keyOf(r throughput.Resource, request throughput.Request) (accountName, bool) {
	attribute := s.partition(r.Table, r.Index)
	if attribute == "" {
		return accountName{}, false
	}
	key, ok := request.Partition(attribute)
	return accountName{r, key}, ok
}

// heat takes in that the service refused a call for its key alone. Where that key is
// not known, since the call names several or nobody has looked yet what the table's
// key is, only the call itself waits before it is repeated.
func (s *Scheduler) heat(t *Ticket, now time.Time) {
	for _, c := range t.charges {
		if c.account.hot() {
			continue
		}
		c.account.figures.throttled(1)
		name, ok := s.keyOf(c.account.resource, t.request)
		if !ok {
			continue
		}
		a := s.accounts[name]
		if a == nil {
			if s.hotKeys() >= mostHotKeys {
				return
			}
			a = s.open(name, now)
			s.hot[name.Resource]++
		}
		if now.Sub(a.ceiling.Down) < time.Second && !a.ceiling.Down.IsZero() {
			continue
		}
		rate, _ := c.account.budget.Rate()
		a.ceiling.Throttled(now, throughput.Refusal{
			Calls: 1, Consumed: a.consumed, Fastest: a.fastest.lately(now), Lately: max(rate/hotPart, hotLeast),
		})
		a.consumed = 0
		a.follow(now)
	}
}

// What a key may take that was not measured yet, when it is first refused: a part
// of what the table takes here, and at least so much.
const (
	hotPart  = 4
	hotLeast = 8 * throughput.Unit
)

func (s *Scheduler) hotKeys() (n int) {
	for _, keys := range s.hot {
		n += keys
	}
	return n
}

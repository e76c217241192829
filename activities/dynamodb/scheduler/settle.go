package scheduler

import (
	"time"

	"sluice/internal/throughput"
)

// An Outcome is what the answer to a call says about its cost.
type Outcome struct {
	Charges   []throughput.Charge // what was consumed
	Known     bool                // the answer told; else the estimate stands
	Throttled int                 // refused for want of capacity
	KeyRange  bool                // of the call's key alone, not of the table
	Indexes   []string            // of these indexes, where the service names them
	Unsent    bool                // nothing was sent, so nothing is charged
}

// Settle replaces the estimate by what was really consumed.
func (s *Scheduler) Settle(t *Ticket, o Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	t.line.inFlight--
	switch {
	case o.Unsent:
		for _, c := range t.charges {
			c.account.budget.Charge(now, -c.units)
		}
	case o.Known:
		s.charge(t, o, now)
	case o.KeyRange:
		for _, c := range t.charges {
			if !c.account.hot() {
				c.account.budget.Charge(now, -c.units) // the table took nothing, and has it for others
			}
		}
	case o.Throttled > 0:
		// A refused call keeps the charge of a unit, as the original's did: the
		// service has no capacity now, but what was refused is not consumed.
		for _, c := range t.charges {
			c.account.budget.Charge(now, min(c.units, throughput.Unit)-c.units)
		}
	default:
		for _, c := range t.charges {
			c.account.consume(now, c.units)
		}
	}
	switch {
	case o.KeyRange:
		s.heat(t, now)
	case o.Throttled > 0:
		s.throttled(t, o, now)
	}
	s.dispatch(t.line, now)
}

func (s *Scheduler) charge(t *Ticket, o Outcome, now time.Time) {
	var all throughput.Milli
	for _, c := range o.Charges {
		a := s.account(s.resource(c, t.request), now)
		a.budget.Charge(now, c.Units)
		a.consume(now, c.Units)
		all += c.Units
	}
	for _, c := range t.charges {
		c.account.budget.Charge(now, -c.units)
		if c.account.hot() {
			c.account.budget.Charge(now, all)
			c.account.consume(now, all)
		}
	}
	s.estimates.Learn(t.request, o.Charges)
}

func (s *Scheduler) throttled(t *Ticket, o Outcome, now time.Time) {
	named := false
	for _, index := range o.Indexes {
		for _, c := range t.charges {
			if c.account.resource.Index == index {
				c.account.slowDown(now, o.Throttled)
				named = true
			}
		}
	}
	if !named {
		t.charges[0].account.slowDown(now, o.Throttled)
	}
}

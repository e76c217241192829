package dynamodb

import (
	"time"

	"sluice/internal/throughput"
)

// An outcome is what the answer to a call says about its cost.
type outcome struct {
	charges   []throughput.Charge // what was consumed
	known     bool                // the answer told; else the estimate stands
	throttled int                 // refused for want of capacity
	indexes   []string            // of these indexes, where the service names them
	unsent    bool                // nothing was sent, so nothing is charged
}

// settle replaces the estimate by what was really consumed.
func (s *scheduler) settle(t *ticket, o outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	t.line.inFlight--
	switch {
	case o.unsent:
		for _, c := range t.charges {
			c.account.budget.Charge(now, -c.units)
		}
	case o.known:
		s.charge(t, o, now)
	case o.throttled > 0:
		// A refused call keeps the charge of a unit, as the original's did: the
		// service has no capacity now, but what was refused is not consumed.
		for _, c := range t.charges {
			c.account.budget.Charge(now, min(c.units, throughput.Unit)-c.units)
		}
	default:
		for _, c := range t.charges {
			c.account.consume(c.units)
		}
	}
	if o.throttled > 0 {
		s.throttled(t, o, now)
	}
	s.dispatch(t.line, now)
}

func (s *scheduler) charge(t *ticket, o outcome, now time.Time) {
	for _, c := range t.charges {
		c.account.budget.Charge(now, -c.units)
	}
	for _, c := range o.charges {
		a := s.account(s.resource(c, t.request), now)
		a.budget.Charge(now, c.Units)
		a.consume(c.Units)
	}
	s.estimates.Learn(t.request, o.charges)
}

func (s *scheduler) throttled(t *ticket, o outcome, now time.Time) {
	named := false
	for _, index := range o.indexes {
		for _, c := range t.charges {
			if c.account.resource.Index == index {
				c.account.slowDown(now, o.throttled)
				named = true
			}
		}
	}
	if !named {
		t.charges[0].account.slowDown(now, o.throttled)
	}
}

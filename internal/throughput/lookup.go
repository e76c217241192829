package throughput

import (
	"time"

	"sluice/internal/backoff"
)

// How old what is provisioned may be before it is looked up again.
const (
	lookUpBusy = 30 * time.Second // while more than a hundredth of it is leased
	lookUpIdle = 10 * time.Minute
)

// lookUpFailed is the wait before a look-up that failed is repeated.
var lookUpFailed = backoff.Policy{Base: 2 * time.Second, Cap: lookUpBusy} //nolint:gochecknoglobals // a constant

// Stale reports that what is provisioned should be looked up, as it would be too
// old by the next lease. It asks nothing of what is fixed or set by hand.
func (o *Owner) Stale(now time.Time) bool {
	if r, err := ParseResource(o.Resource); err == nil {
		if _, fixed := r.Control(); fixed {
			return false
		}
	}
	age := now.Sub(o.Described)
	switch {
	case o.ByHand > 0:
		return false
	case o.Described.IsZero():
		return true
	case o.Failed > 0:
		return age >= lookUpFailed.Ceiling(o.Failed)
	}
	wanted := lookUpBusy
	if ceiling, limited := o.Ceiling.In(now); o.hardlyLeased(ceiling, limited) {
		wanted = lookUpIdle
	}
	return age+o.untilNextLease(now) >= wanted
}

// hardlyLeased reports that at most a hundredth of the ceiling is leased.
func (o *Owner) hardlyLeased(ceiling Milli, limited bool) bool {
	units, unlimited := o.leased()
	return !unlimited && (!limited || units <= ceiling/100)
}

// untilNextLease is when the first of the holders is to renew.
func (o *Owner) untilNextLease(now time.Time) time.Duration {
	next := time.Duration(0)
	for i, h := range o.Holders {
		renews := h.At.Add(o.renewal(h.ExpiresAt.Sub(h.At))).Sub(now)
		if i == 0 || renews < next {
			next = renews
		}
	}
	return max(next, 0)
}

package throughput

import (
	"slices"
	"strings"
	"time"
)

// take removes the worker's own lease, and counts what it reports.
func (o *Owner) take(now time.Time, r LeaseRequest) (h, before Holder) {
	o.Tick(now)
	h = Holder{Worker: r.Worker, Demand: r.Demand, At: now, Rate: r.Consumed}
	i, known := slices.BinarySearchFunc(o.Holders, r.Worker, func(h Holder, name string) int { return strings.Compare(h.Worker, name) })
	if known {
		before = o.Holders[i]
		since := now.Sub(before.At)
		h.Rate = mulDiv(r.Consumed, Milli(time.Second), Milli(max(since, time.Second)))
		if !before.Unlimited {
			h.Debt = max(before.Debt+r.Consumed-during(before.Units, since), 0)
		}
		o.Holders = slices.Delete(o.Holders, i, i+1)
	}
	h.Fastest = max(r.Fastest, h.Rate)
	o.consumed(now, h, r)
	return h, before
}

// consumed takes in how fast the fleet consumed, and what was refused meanwhile.
func (o *Owner) consumed(now time.Time, h Holder, r LeaseRequest) {
	fastest, lately := h.Fastest, Milli(0)
	for _, other := range o.Holders {
		fastest += other.Fastest
	}
	for _, f := range o.Fastest {
		lately = max(lately, f.Rate)
	}
	at := now.Truncate(10 * time.Second)
	if n := len(o.Fastest); n > 0 && o.Fastest[n-1].At.Equal(at) {
		o.Fastest[n-1].Rate = max(o.Fastest[n-1].Rate, fastest)
	} else {
		o.Fastest = append(o.Fastest, FastRate{at, fastest})
	}
	if r.Throttled == 0 {
		return
	}
	if n := len(o.Throttles); n > 0 && o.Throttles[n-1].At.Equal(at) {
		o.Throttles[n-1].Calls += r.Throttled
	} else {
		o.Throttles = append(o.Throttles, Throttles{at, r.Throttled})
	}
	o.Ceiling.Throttled(now, Refusal{Calls: r.Throttled, Consumed: r.Consumed, Fastest: fastest, Lately: lately})
}

// Release gives a worker's share back at once.
func (o *Owner) Release(now time.Time, worker string) {
	o.Tick(now)
	o.Holders = slices.DeleteFunc(o.Holders, func(h Holder) bool {
		if h.Worker != worker {
			return false
		}
		o.leave(now, h)
		return true
	})
}

// leave takes over what a worker that is gone still owes.
func (o *Owner) leave(now time.Time, h Holder) {
	if debt := h.owes(now); debt > 0 {
		o.Owed, o.OwedAt = o.left(now)+debt, now
	}
}

// left is what is not paid yet of the debts of workers that are gone: all that
// comes in pays them.
func (o *Owner) left(now time.Time) Milli {
	ceiling, limited := o.Ceiling.In(now)
	if !limited {
		return 0
	}
	return max(o.Owed-during(ceiling, now.Sub(o.OwedAt)), 0)
}

// owes is what the whole fleet has consumed beyond its shares and not paid yet.
func (o *Owner) owes(now time.Time) Milli {
	owed := o.left(now)
	for _, h := range o.Holders {
		owed += h.owes(now)
	}
	return owed
}

// leased is what all leases in force give together.
func (o *Owner) leased() (units Milli, unlimited bool) {
	for _, h := range o.Holders {
		units += h.Units
		unlimited = unlimited || h.Unlimited
	}
	return units, unlimited
}

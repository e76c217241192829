package throughput

import (
	"time"
)

const (
	// manyWorkers is the size of a fleet from which on a part of the ceiling is kept
	// free for newcomers and for those who want more.
	manyWorkers = 50
	keptPart    = 3 // hundredths
	// leavesPart is the part of what is free that one worker gets of it there, less
	// while many come.
	leavesPart = 16
	// young is how long after its start an owner expects more workers than it knows.
	young = 10 * time.Second
	// owedLong is the debt of a fleet, in what comes in during this time, that a
	// newcomer waits for.
	owedLong = 10 * time.Second
	// longWait bounds what a newcomer waits for it.
	longWait = 5 * time.Minute
	// longShare is a share for some minutes where there is no ceiling.
	longShare = 4 * Unit
)

// Lease gives a worker its share, in place of the one it had. It is what Shares
// says, but never more than the others' leases leave, so that all leases in force
// together stay within the ceiling.
func (o *Owner) Lease(now time.Time, r LeaseRequest) Lease {
	h, before := o.take(now, r)
	o.Used, o.Leases = now, o.Leases+1
	o.Told(r)
	g := o.grant(now, h, before, r)
	h.Units, h.Unlimited, h.Long, h.Short, h.From = g.units, g.unlimited, g.long, g.short, g.from
	if before.alike(h) && r.Throttled == 0 && !g.short {
		h.Alike = before.Alike + 1
	}
	return o.put(now, h, g, r)
}

// Told takes in where and as what the worker says the table is to be looked up.
func (o *Owner) Told(r LeaseRequest) {
	if r.TaskQueue != "" {
		o.TaskQueue = r.TaskQueue
	}
	if r.Table != "" {
		o.ARN = r.Table
	}
}

// A grant is what a lease gives, before it is known for how long.
type grant struct {
	units     Milli
	unlimited bool
	long      bool      // a small share for some minutes
	short     bool      // clearly less than what the worker should have
	early     bool      // the first of a budget that begins: others may be about to come
	from      time.Time // until when it waits for what the fleet owes
}

func (o *Owner) grant(now time.Time, h, before Holder, r LeaseRequest) grant {
	if o.Paused {
		return grant{}
	}
	if !o.Ready() {
		return grant{units: Unit}
	}
	ceiling, limited := o.Ceiling.In(now)
	if !limited {
		if share := min(longShare, max(h.Demand.Total()*2, Unit)); before.settled() && h.Demand.Total() <= share/2 {
			return grant{units: share, long: true}
		}
		return grant{unlimited: true}
	}
	free := ceiling
	for _, other := range o.Holders {
		free -= other.Units
	}
	free = max(free, 0)
	if share, ok := o.small(ceiling, free, h, before); ok {
		return grant{units: share, long: true}
	}
	target := o.target(now, ceiling, h.Demand, r)
	wanted := target + o.extra(now, ceiling, free-target, h.Demand.Total()-target)
	g := grant{units: min(wanted, o.leaving(now, free, before)), from: before.From}
	held := before.Units
	if before.Worker == "" {
		g.early = len(o.Holders) == 0 && now.Sub(o.Started) < young
		held = o.remembered(now, r)
		g.from = o.begins(now, ceiling)
	}
	if now.Before(o.Wary) {
		g.units = min(target, free, held)
	}
	if now.Before(g.from) {
		return grant{short: true, from: g.from}
	}
	g.short = g.units < target*4/5
	if len(o.Holders) >= manyWorkers {
		g.short = g.units < target/2 // it is longer until everybody has what is fair
	}
	return g
}

// remembered is what a worker says to hold whom this owner does not know: it was
// started anew while an earlier one's leases last. Until they are over, nobody gets
// more than it has.
func (o *Owner) remembered(now time.Time, r LeaseRequest) Milli {
	if r.Holds == 0 || r.For <= 0 {
		return 0
	}
	if until := now.Add(min(r.For.Std(), longWait)); until.After(o.Wary) {
		o.Wary = until
	}
	return r.Holds
}

// begins counts a newcomer, and tells when it gets its first share: when that is
// paid which the fleet owes as it comes.
func (o *Owner) begins(now time.Time, ceiling Milli) time.Time {
	o.Arrivals.add(now)
	owed := o.owes(now)
	if owed <= during(ceiling, owedLong) {
		return time.Time{}
	}
	wait := time.Duration(mulDiv(owed, Milli(time.Second), ceiling))
	return now.Add(min(wait, longWait))
}

// leaving is the most that a worker may have of what is free, its own share
// included. In fleets that begin and in large ones whoever gets more leaves most of
// it to those who come next, so that nobody finds nothing.
func (o *Owner) leaving(now time.Time, free Milli, before Holder) Milli {
	n := len(o.Holders)
	begins := before.Worker == "" && now.Sub(o.Started) < young
	if n == 0 || (n < manyWorkers && !begins) {
		return free
	}
	more := free - before.Units
	others := max(leavesPart, int(o.Arrivals.coming(now, o.Started)/2))
	return before.Units + max(more/Milli(max(2, min(n/2, others))), min(more, 1))
}

// small is the share of a worker that has long wanted next to nothing: one that
// lasts for minutes, as long as all such shares are under a hundredth of the
// ceiling.
func (o *Owner) small(ceiling, free Milli, h, before Holder) (share Milli, ok bool) {
	if !before.settled() {
		return 0, false
	}
	left := ceiling/100 - 1
	for _, other := range o.Holders {
		if other.Long {
			left -= other.Units
		}
	}
	wanted := h.Demand.Total()
	share = max(min(2*wanted, left), left/4)
	if share < max(wanted*5/4, 1) || share > free || h.Debt > share*Milli(longWait/time.Second) {
		return 0, false
	}
	return share, true
}

// divided is a division that is good for a moment: in a large fleet it is not made
// anew for each of ten leases a second.
type divided struct {
	at       time.Time
	ceiling  Milli
	workers  Milli
	division Division
}

// extra is what a worker of a large fleet that wants more gets above its share, of
// what is free beyond what is kept: leases are long there, and it may be minutes
// until those come who have less than their share. What those lack who come soon is
// left to them, and a fleet that grows has a use for all that is free.
func (o *Owner) extra(now time.Time, ceiling, free, wanted Milli) Milli {
	n := Milli(len(o.Holders))
	if n < manyWorkers || o.Arrivals.coming(now, o.Started) > n/50 {
		return 0
	}
	free -= ceiling * keptPart / 100
	for _, other := range o.Holders {
		if other.Short {
			free -= max(o.division.division.Share(other.Demand)-other.Units, 0)
		}
	}
	return max(min(free/16, 3*ceiling/n, wanted), 0)
}

// target is what a worker should have: its share among all who lease, and in a
// fleet that grows those who are about to.
func (o *Owner) target(now time.Time, ceiling Milli, demand Demand, r LeaseRequest) Milli {
	many := len(o.Holders) >= manyWorkers
	if many || r.Steady.Std() > SteadyTime {
		ceiling -= ceiling * keptPart / 100
	}
	if !many || o.division.ceiling != ceiling || now.Sub(o.division.at) >= time.Second {
		demands := make([]Demand, 0, len(o.Holders)+1)
		demands = append(demands, demand)
		for _, other := range o.Holders {
			demands = append(demands, other.Demand)
		}
		o.division = divided{now, ceiling, Milli(len(demands)), Divide(ceiling, demands)}
	}
	share := o.division.division.Share(demand)
	expected := Milli(len(o.Holders)+1) + o.Arrivals.coming(now, o.Started)
	if expected > manyWorkers && expected > o.division.workers {
		share = mulDiv(share, o.division.workers, expected)
	}
	return max(share, 1)
}

// alike reports that a lease gives about what the one before it gave.
func (h Holder) alike(next Holder) bool {
	switch {
	case h.Worker == "":
		return false
	case next.Long:
		return true // given only after several alike
	case h.Long:
		return false
	case h.Unlimited || next.Unlimited:
		return h.Unlimited && next.Unlimited
	}
	apart := h.Units - next.Units
	return max(apart, -apart)*8 <= h.Units
}

// settled reports that a worker has had three leases alike: this one and two that
// it was like.
func (h Holder) settled() bool { return h.Alike >= alikeEnough-1 }

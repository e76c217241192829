package throughput

import (
	"slices"
	"strings"
	"time"
)

const (
	// IdleEnd is how long an owner that nobody uses goes on.
	IdleEnd = 10 * time.Minute
	// RefreshAfter is how old the provisioned capacity may be before it is looked
	// up again. Leases come every few seconds, so that a change is noticed within
	// half a minute.
	RefreshAfter = 22 * time.Second
	// settling is how long after its start an owner gives short leases, so that
	// workers that begin together soon have even shares.
	settling = 4 * time.Second
	// throttleWindow is what throttles a minute are counted over.
	throttleWindow = time.Minute
)

// An Owner is the state of one budget: what the fleet may consume and who holds
// which part of it. Every method takes the time. The exported fields are what is
// carried from run to run.
type Owner struct {
	Resource    string    `json:"resource"`
	Started     time.Time `json:"started"`
	ByHand      Milli     `json:"byHand"`      // units a second set by hand; 0: as described
	Utilization Milli     `json:"utilization"` // thousandths of what is provisioned that are used
	Pinned      bool      `json:"pinned"`      // set by hand, so it does not end by itself

	Known       bool      `json:"known"`       // the service was asked
	Provisioned Milli     `json:"provisioned"` // 0: no ceiling
	Described   time.Time `json:"described"`
	Fault       string    `json:"fault"` // why it could not be asked last time

	Ceiling Ceiling `json:"ceiling"`

	Paused bool      `json:"paused"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"` // zero: until unpaused

	Holders   []Holder    `json:"holders"` // by name
	Throttles []Throttles `json:"throttles"`
	Used      time.Time   `json:"used"`
}

// A Holder is a worker with a share.
type Holder struct {
	Worker    string    `json:"worker"`
	Units     Milli     `json:"units"`
	Unlimited bool      `json:"unlimited"`
	ExpiresAt time.Time `json:"expiresAt"`
	Demand    Demand    `json:"demand"`
	Rate      Milli     `json:"rate"` // consumed a second
	At        time.Time `json:"at"`   // of the lease
}

// Throttles are those reported in the ten seconds from At.
type Throttles struct {
	At    time.Time `json:"at"`
	Calls int       `json:"calls"`
}

// rebase brings the ceiling in line with what is provisioned or set.
func (o *Owner) rebase(now time.Time) {
	base := o.Provisioned
	if o.ByHand > 0 {
		base = o.ByHand
	}
	o.Ceiling.Rebase(now, mulDiv(base, o.Utilization, Unit))
}

// Describe takes in what the service says is provisioned; 0 is no ceiling.
func (o *Owner) Describe(now time.Time, provisioned Milli) {
	o.Known, o.Provisioned, o.Described, o.Fault = true, provisioned, now, ""
	o.rebase(now)
}

// DescribeFailed records that the service could not be asked; what was known
// stays.
func (o *Owner) DescribeFailed(now time.Time, why string) {
	o.Described, o.Fault = now, why
}

// Stale reports that the provisioned capacity should be looked up.
func (o *Owner) Stale(now time.Time) bool {
	if r, err := ParseResource(o.Resource); err == nil {
		if _, fixed := r.Control(); fixed {
			return false
		}
	}
	return o.ByHand == 0 && (o.Described.IsZero() || now.Sub(o.Described) >= RefreshAfter)
}

// Ready reports that shares can be given.
func (o *Owner) Ready() bool { return o.Known || o.ByHand > 0 }

// Set changes the rate and the utilization by hand; nil keeps what is there, a
// rate of 0 goes back to what the service says.
func (o *Owner) Set(now time.Time, unitsPerSecond, utilization *Milli, usual Milli) {
	if unitsPerSecond != nil {
		o.ByHand = *unitsPerSecond
	}
	if utilization != nil {
		o.Utilization = *utilization
	}
	o.Pinned = o.ByHand > 0 || o.Utilization != usual
	o.Used = now
	o.rebase(now)
}

// Pause stops everything, for a while or, with 0, until Unpause.
func (o *Owner) Pause(now time.Time, reason string, length time.Duration) {
	o.Paused, o.Reason, o.Until = true, reason, time.Time{}
	if length > 0 {
		o.Until = now.Add(length)
	}
}

// Unpause lets calls go again.
func (o *Owner) Unpause(now time.Time) {
	o.Paused, o.Reason, o.Until, o.Used = false, "", time.Time{}, now
}

// Tick lets pass what has passed: a pause with an end, leases that ran out.
func (o *Owner) Tick(now time.Time) {
	if o.Paused && !o.Until.IsZero() && !now.Before(o.Until) {
		o.Unpause(now)
	}
	o.Holders = slices.DeleteFunc(o.Holders, func(h Holder) bool { return !h.ExpiresAt.After(now) })
	o.Throttles = slices.DeleteFunc(o.Throttles, func(t Throttles) bool { return now.Sub(t.At) >= throttleWindow })
}

// Lease gives a worker its share, in place of the one it had. It is what Shares
// says, but never more than the others' leases leave, so that all leases in force
// together stay within the ceiling; while it is less, the lease is short.
func (o *Owner) Lease(now time.Time, r LeaseRequest) Lease {
	h := o.take(now, r)
	o.Used = now
	if o.Paused {
		h.Units, h.Unlimited = 0, false
		return o.put(now, h, LeaseTime)
	}
	if !o.Ready() {
		h.Units, h.Unlimited = Unit, false
		return o.put(now, h, ShortLeaseTime)
	}
	ceiling, limited := o.Ceiling.In(now)
	if !limited {
		h.Units, h.Unlimited = 0, true
		return o.put(now, h, LeaseTime)
	}
	demands := []Demand{h.Demand}
	free := ceiling
	for _, other := range o.Holders {
		demands = append(demands, other.Demand)
		free -= other.Units
	}
	target := Shares(ceiling, demands)[0]
	h.Units, h.Unlimited = max(min(target, free), 0), false
	length := LeaseTime
	if h.Units < target*4/5 || now.Sub(o.Started) < settling {
		length = ShortLeaseTime
	}
	return o.put(now, h, length)
}

// take removes the worker's own lease, and counts what it reports.
func (o *Owner) take(now time.Time, r LeaseRequest) Holder {
	h := Holder{Worker: r.Worker, Demand: r.Demand}
	if i := slices.IndexFunc(o.Holders, func(h Holder) bool { return h.Worker == r.Worker }); i >= 0 {
		since := max(now.Sub(o.Holders[i].At), time.Second)
		h.Rate = mulDiv(r.Consumed, Milli(time.Second), Milli(since))
		o.Holders = slices.Delete(o.Holders, i, i+1)
	} else {
		h.Rate = r.Consumed
	}
	o.Tick(now)
	if r.Throttled > 0 {
		at := now.Truncate(10 * time.Second)
		if n := len(o.Throttles); n > 0 && o.Throttles[n-1].At.Equal(at) {
			o.Throttles[n-1].Calls += r.Throttled
		} else {
			o.Throttles = append(o.Throttles, Throttles{at, r.Throttled})
		}
		o.Ceiling.Throttled(now, r.Throttled, r.Consumed, o.rate()+h.Rate)
	}
	return h
}

func (o *Owner) put(now time.Time, h Holder, length time.Duration) Lease {
	h.At, h.ExpiresAt = now, now.Add(length)
	i, _ := slices.BinarySearchFunc(o.Holders, h, func(a, b Holder) int { return strings.Compare(a.Worker, b.Worker) })
	o.Holders = slices.Insert(o.Holders, i, h)
	return Lease{UnitsPerSecond: h.Units, Unlimited: h.Unlimited, ExpiresAt: h.ExpiresAt, AsOf: now, Paused: o.Paused}
}

// Release gives a worker's share back at once.
func (o *Owner) Release(now time.Time, worker string) {
	o.Holders = slices.DeleteFunc(o.Holders, func(h Holder) bool { return h.Worker == worker })
	o.Tick(now)
}

// rate is what the fleet consumes a second, as far as it was reported.
func (o *Owner) rate() (rate Milli) {
	for _, h := range o.Holders {
		rate += h.Rate
	}
	return rate
}

// Next is the instant at which something happens without a message: the end of a
// pause, or of the owner itself. It is zero when nothing does.
func (o *Owner) Next() time.Time {
	switch {
	case o.Paused:
		return o.Until
	case o.Pinned:
		return time.Time{}
	}
	end := o.Used
	for _, h := range o.Holders {
		if h.ExpiresAt.After(end) {
			end = h.ExpiresAt
		}
	}
	return end.Add(IdleEnd)
}

// Idle reports that the owner is to end.
func (o *Owner) Idle(now time.Time) bool {
	return !o.Paused && !o.Pinned && !now.Before(o.Next())
}

// Status is the view of an owner.
type Status struct {
	AsOf               time.Time    `json:"asOf"`
	Resource           string       `json:"resource"`
	Provisioned        Milli        `json:"provisioned"` // units a second, set by hand or described; 0: no ceiling
	Utilization        Milli        `json:"utilization"`
	SetByHand          bool         `json:"setByHand"`
	Effective          Milli        `json:"effective"` // the ceiling in force; 0: none
	Paused             bool         `json:"paused"`
	Reason             string       `json:"reason,omitempty"`
	PausedUntil        *time.Time   `json:"pausedUntil,omitempty"`
	Leases             []LeaseState `json:"leases"`
	ThrottledPerMinute int          `json:"throttledPerMinute"`
	ConsumedPerSecond  Milli        `json:"consumedPerSecond"`
	LastError          string       `json:"lastError,omitempty"` // of looking up what is provisioned
}

// LeaseState is one lease in a Status.
type LeaseState struct {
	Worker         string    `json:"worker"`
	UnitsPerSecond Milli     `json:"unitsPerSecond"`
	Unlimited      bool      `json:"unlimited,omitempty"`
	ExpiresAt      time.Time `json:"expiresAt"`
}

// Status tells how things stand at now; it changes nothing.
func (o *Owner) Status(now time.Time) Status {
	view := *o
	view.Holders, view.Throttles = slices.Clone(o.Holders), slices.Clone(o.Throttles)
	view.Tick(now)
	s := Status{
		AsOf: now, Resource: o.Resource, Utilization: o.Utilization, SetByHand: o.Pinned,
		Provisioned: o.Provisioned, Paused: view.Paused, Reason: view.Reason,
		Leases: []LeaseState{}, ConsumedPerSecond: view.rate(), LastError: o.Fault,
	}
	if o.ByHand > 0 {
		s.Provisioned = o.ByHand
	}
	if view.Paused && !view.Until.IsZero() {
		s.PausedUntil = &view.Until
	}
	s.Effective, _ = view.Ceiling.In(now)
	for _, h := range view.Holders {
		s.Leases = append(s.Leases, LeaseState{h.Worker, h.Units, h.Unlimited, h.ExpiresAt})
	}
	for _, t := range view.Throttles {
		s.ThrottledPerMinute += t.Calls
	}
	return s
}

package throughput

import (
	"slices"
	"time"
)

const (
	// IdleEnd is how long an owner that nobody uses goes on.
	IdleEnd = 10 * time.Minute
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

	Known       bool      `json:"known"`               // the service was asked
	Provisioned Milli     `json:"provisioned"`         // 0: no ceiling
	Described   time.Time `json:"described"`           // when it was last asked
	Failed      int       `json:"failed"`              // look-ups in a row that failed
	Fault       string    `json:"fault"`               // why it could not be asked last time
	FaultType   string    `json:"faultType,omitempty"` // the type of that error
	TaskQueue   string    `json:"taskQueue"`           // of the worker that last leased: where to look up

	ARN string `json:"arn,omitempty"` // of the table, where a worker told it

	Ceiling Ceiling    `json:"ceiling"`
	Fastest []FastRate `json:"fastest"` // the highest rates of the last minute

	Paused bool      `json:"paused"`
	Reason string    `json:"reason"`
	Until  time.Time `json:"until"` // zero: until unpaused

	Holders   []Holder    `json:"holders"` // by name
	Throttles []Throttles `json:"throttles"`
	Arrivals  Arrivals    `json:"arrivals"`
	Leases    int         `json:"leases"` // given so far
	Used      time.Time   `json:"used"`
	// Wary is until when workers of an earlier owner may hold shares that this one
	// does not know.
	Wary time.Time `json:"wary"`
	// Owed is what workers that are gone consumed beyond their shares, at OwedAt.
	Owed   Milli     `json:"owed"`
	OwedAt time.Time `json:"owedAt"`

	division divided
}

// Throttles are those reported in the ten seconds from At.
type Throttles struct {
	At    time.Time `json:"at"`
	Calls int       `json:"calls"`
}

// A FastRate is the highest rate at which the fleet consumed in the ten seconds
// from At.
type FastRate struct {
	At   time.Time `json:"at"`
	Rate Milli     `json:"rate"`
}

// rebase brings the ceiling in line with what is provisioned or set.
func (o *Owner) rebase(now time.Time) {
	base := o.Provisioned
	if o.ByHand > 0 {
		base = o.ByHand
	}
	o.Ceiling.Rebase(now, mulDiv(base, o.Utilization, Unit))
	o.division = divided{}
}

// Describe takes in what the service says is provisioned; 0 is no ceiling.
func (o *Owner) Describe(now time.Time, provisioned Milli) {
	o.Known, o.Provisioned, o.Described, o.Failed, o.Fault, o.FaultType = true, provisioned, now, 0, "", ""
	o.rebase(now)
}

// DescribeFailed records that the service could not be asked; what was known
// stays.
func (o *Owner) DescribeFailed(now time.Time, why string) {
	o.Described, o.Fault = now, why
	o.Failed++
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

// Pause stops everything, for a while or, with 0, until Unpause. It is in force
// when the leases are over.
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
	o.Holders = slices.DeleteFunc(o.Holders, func(h Holder) bool {
		if h.ExpiresAt.After(now) {
			return false
		}
		o.leave(now, h)
		return true
	})
	o.Throttles = slices.DeleteFunc(o.Throttles, func(t Throttles) bool { return now.Sub(t.At) >= throttleWindow })
	o.Fastest = slices.DeleteFunc(o.Fastest, func(f FastRate) bool { return now.Sub(f.At) >= throttleWindow })
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

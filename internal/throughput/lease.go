package throughput

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/internal/document"
	"sluice/internal/duration"
)

// LeaseRequest asks the owner of a budget for a share of it. Only worker is
// required; who leaves the rest out gets shorter leases or less exact shares.
type LeaseRequest struct {
	Worker string `json:"worker" doc:"required"` // who asks; unique in the fleet
	// Demand is what it would use if it could, by priority.
	Demand Demand `json:"demand"`
	// Consumed and Throttled are units and refused calls since its last lease.
	Consumed  Milli `json:"consumed"`
	Throttled int   `json:"throttled"`
	// Fastest is the most it consumed in any second since then.
	Fastest Milli `json:"fastest"`
	// TaskQueue is where it runs activities: what is provisioned is looked up there.
	TaskQueue string `json:"taskQueue"`
	// Table is the table's ARN, where calls name it so: one of another account is looked
	// up by that alone.
	Table string `json:"table"`
	// Steady is how long leases of a share that stays alike may be; 0 is 30 s.
	Steady duration.Duration `json:"steady"`
	// Holds is the share that an earlier owner gave it, and For how long it has that
	// still: an owner that was started anew knows of none.
	Holds Milli             `json:"holds"`
	For   duration.Duration `json:"for"`
}

// A Lease is a share of a budget for some time.
type Lease struct {
	UnitsPerSecond Milli     `json:"unitsPerSecond"`
	Unlimited      bool      `json:"unlimited,omitempty"` // there is no ceiling; unitsPerSecond is 0
	ExpiresAt      time.Time `json:"expiresAt"`
	AsOf           time.Time `json:"asOf"` // by the owner's clock, so that others need not agree with it
	Paused         bool      `json:"paused"`
	// Learned says that the ceiling is not known but learned from throttles, and
	// rises by itself; Unknown that what is provisioned has still to be looked up.
	Learned bool `json:"learned,omitempty"`
	Unknown bool `json:"unknown,omitempty"`
	// RenewAfter is when to ask again where nothing changes; without it, after three
	// quarters. Spread is over how long those may spread their questions who all want
	// more at once; without it, over a quarter.
	RenewAfter duration.Duration `json:"renewAfter"`
	Spread     duration.Duration `json:"spread"`
}

// Validity is how long the lease lasts from when it was given.
func (l Lease) Validity() time.Duration { return l.ExpiresAt.Sub(l.AsOf) }

// MarshalJSON writes {"1":units,…,"5":units} without the classes that ask for
// nothing.
func (d Demand) MarshalJSON() ([]byte, error) {
	out := []byte{'{'}
	for class, units := range d {
		if units == 0 {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = fmt.Appendf(out, `"%d":%v`, class+1, units)
	}
	return append(out, '}'), nil
}

// UnmarshalJSON reads units a second by priority "1" to "5"; its error tells all
// faults, each with its priority.
func (d *Demand) UnmarshalJSON(raw []byte) error {
	var byPriority map[string]Milli
	faults := document.Decode(raw, &byPriority)
	*d = Demand{}
	for _, priority := range slices.Sorted(maps.Keys(byPriority)) {
		if len(priority) != 1 || priority[0] < '1' || priority[0] > '0'+Priorities {
			faults.Add(priority, "no such priority; there are 1 to %d", Priorities)
			continue
		}
		d[priority[0]-'1'] = byPriority[priority]
	}
	return faults.Err()
}

// What a worker may call itself, and the queue it tells, so that what a budget
// carries of thousands of them is bounded.
const (
	MaxName  = 180  // bytes
	maxQueue = 1000 // and of an ARN
)

// Check sees to it that the figures are in range.
func (r *LeaseRequest) Check(faults *document.Faults) {
	switch {
	case faults.Has("worker"):
	case r.Worker == "":
		faults.Add("worker", "required")
	case len(r.Worker) > MaxName:
		faults.Add("worker", "%d bytes, and a name has at most %d", len(r.Worker), MaxName)
	}
	if r.Throttled < 0 {
		faults.Add("throttled", "%d where a number of at least 0 is expected", r.Throttled)
	}
	if len(r.TaskQueue) > maxQueue {
		faults.Add("taskQueue", "%d bytes, and the name of a task queue has at most %d", len(r.TaskQueue), maxQueue)
	}
	if len(r.Table) > maxQueue {
		faults.Add("table", "%d bytes, and an ARN has at most %d", len(r.Table), maxQueue)
	}
	if s := r.Steady.Std(); s != 0 && (s < LeaseTime || s > MaxSteady) {
		faults.Add("steady", "%v is not between %v and %v", s, LeaseTime, MaxSteady)
	}
	if r.For < 0 {
		faults.Add("for", "%v where a duration of at least 0s is expected", r.For.Std())
	}
}

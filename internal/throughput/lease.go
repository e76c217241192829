package throughput

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"sluice/internal/document"
)

// How leases are timed. A worker renews when three quarters of one are over, so
// that a late answer does not leave it without; a dead worker's share comes back
// when its lease ends.
const (
	LeaseTime      = 8 * time.Second // of a share that nobody waits for
	ShortLeaseTime = 2 * time.Second // while shares have not settled
)

// LeaseRequest asks the owner of a budget for a share of it.
type LeaseRequest struct {
	Worker string `json:"worker" doc:"required"` // who asks; unique in the fleet
	// Demand is what it would use if it could, by priority.
	Demand Demand `json:"demand"`
	// Consumed and Throttled are units and refused calls since its last lease.
	Consumed  Milli `json:"consumed"`
	Throttled int   `json:"throttled"`
}

// A Lease is a share of a budget for some seconds.
type Lease struct {
	UnitsPerSecond Milli     `json:"unitsPerSecond"`
	Unlimited      bool      `json:"unlimited,omitempty"` // there is no ceiling; unitsPerSecond is 0
	ExpiresAt      time.Time `json:"expiresAt"`
	AsOf           time.Time `json:"asOf"` // by the owner's clock, so that others need not agree with it
	Paused         bool      `json:"paused"`
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

// Check sees to it that the figures are in range.
func (r *LeaseRequest) Check(faults *document.Faults) {
	if r.Worker == "" && !faults.Has("worker") {
		faults.Add("worker", "required")
	}
	if r.Throttled < 0 {
		faults.Add("throttled", "%d where a number of at least 0 is expected", r.Throttled)
	}
}

package throughput

import (
	"encoding/json"
	"fmt"
	"time"
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

// UnmarshalJSON reads units a second by priority "1" to "5".
func (d *Demand) UnmarshalJSON(raw []byte) error {
	var byPriority map[string]Milli
	if err := json.Unmarshal(raw, &byPriority); err != nil {
		return fmt.Errorf("not an object of units a second by priority: %v", err)
	}
	*d = Demand{}
	for priority, units := range byPriority {
		if len(priority) != 1 || priority[0] < '1' || priority[0] > '0'+Priorities {
			return fmt.Errorf("no priority %q; there are 1 to %d", priority, Priorities)
		}
		d[priority[0]-'1'] = units
	}
	return nil
}

package throughput

import (
	"time"

	"sluice/internal/errortype"
)

// mostShown is how many leases a status tells one by one.
const mostShown = 100

// Status is the view of an owner.
type Status struct {
	AsOf               time.Time          `json:"asOf"`
	Resource           string             `json:"resource"`
	Known              bool               `json:"known"`       // what is provisioned was looked up or set
	Provisioned        Milli              `json:"provisioned"` // units a second, set by hand or described; 0: no ceiling
	Utilization        Milli              `json:"utilization"`
	SetByHand          bool               `json:"setByHand"`
	Effective          Milli              `json:"effective"` // the ceiling in force; 0: none
	Learned            bool               `json:"learned"`   // from throttles
	Paused             bool               `json:"paused"`
	Reason             string             `json:"reason,omitempty"`
	PausedUntil        *time.Time         `json:"pausedUntil,omitempty"`
	InForceAt          *time.Time         `json:"inForceAt,omitempty"` // when no lease given before the pause lasts any longer
	Workers            int                `json:"workers"`             // that hold leases
	Leased             Milli              `json:"leased"`              // by all leases that have a limit
	Leases             []LeaseState       `json:"leases"`              // the first hundred, by worker
	ThrottledPerMinute int                `json:"throttledPerMinute"`
	ConsumedPerSecond  Milli              `json:"consumedPerSecond"`
	LastError          string             `json:"lastError,omitempty"` // of looking up what is provisioned
	Trouble            *errortype.Trouble `json:"trouble"`
}

// LeaseState is one lease in a Status.
type LeaseState struct {
	Worker         string    `json:"worker"`
	UnitsPerSecond Milli     `json:"unitsPerSecond"`
	Unlimited      bool      `json:"unlimited,omitempty"`
	ExpiresAt      time.Time `json:"expiresAt"`
}

// Status tells how things stand at now; it changes nothing, and takes no longer
// to read in a large fleet than in a small one.
func (o *Owner) Status(now time.Time) Status {
	s := Status{
		AsOf: now, Resource: o.Resource, Utilization: o.Utilization, SetByHand: o.Pinned,
		Known: o.Ready(), Provisioned: o.Provisioned, Leases: []LeaseState{}, LastError: o.Fault, Trouble: o.Trouble().OrNil(),
	}
	if o.ByHand > 0 {
		s.Provisioned = o.ByHand
	}
	ceiling := o.Ceiling
	s.Effective, _ = ceiling.In(now)
	s.Learned = ceiling.Learned && s.Effective > 0
	o.showPause(now, &s)
	for _, h := range o.Holders {
		if !h.ExpiresAt.After(now) {
			continue
		}
		s.Workers++
		s.Leased += h.Units
		s.ConsumedPerSecond += h.Rate
		if len(s.Leases) < mostShown {
			s.Leases = append(s.Leases, LeaseState{h.Worker, h.Units, h.Unlimited, h.ExpiresAt})
		}
	}
	for _, t := range o.Throttles {
		if now.Sub(t.At) < throttleWindow {
			s.ThrottledPerMinute += t.Calls
		}
	}
	return s
}

// showPause tells of a pause until when it lasts, and when the last lease is over
// that was given before it.
func (o *Owner) showPause(now time.Time, s *Status) {
	if !o.Paused || (!o.Until.IsZero() && !now.Before(o.Until)) {
		return
	}
	s.Paused, s.Reason = true, o.Reason
	if !o.Until.IsZero() {
		until := o.Until
		s.PausedUntil = &until
	}
	inForce := now
	for _, h := range o.Holders {
		if (h.Units > 0 || h.Unlimited) && h.ExpiresAt.After(inForce) {
			inForce = h.ExpiresAt
		}
	}
	s.InForceAt = &inForce
}

// Trouble is why what is provisioned can't be looked up.
func (o *Owner) Trouble() errortype.Trouble {
	return errortype.Trouble{Type: o.FaultType, Error: o.Fault}.Typed()
}

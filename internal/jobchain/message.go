package jobchain

import (
	"time"

	"sluice/internal/document"
	"sluice/internal/duration"
)

// Defaults and limits of messages.
const (
	defaultGrace = 10 * time.Second
	defaultWait  = 30 * time.Second
	maxWait      = time.Minute // no update takes longer
	defaultLease = 5 * time.Minute
	MaxHolder    = 1000 // bytes
)

// SuspendMessage asks to suspend.
type SuspendMessage struct {
	Reason string            `json:"reason"`
	Grace  duration.Duration `json:"grace"`
	TTL    TTL               `json:"ttl"`
	Wait   duration.Duration `json:"wait"`
}

// NewSuspendMessage returns one that holds the defaults.
func NewSuspendMessage() SuspendMessage {
	return SuspendMessage{Grace: duration.Duration(defaultGrace), Wait: duration.Duration(defaultWait)}
}

// Check adds what is out of range.
func (m *SuspendMessage) Check(faults *document.Faults) {
	if m.Wait.Std() > maxWait {
		faults.Add("wait", "%v; at most %v", m.Wait, duration.Duration(maxWait))
	}
}

// TTL is how long a suspension may last: not given, a length, or 0 for ever.
type TTL struct {
	Given  bool
	Length duration.Duration
}

// UnmarshalJSON reads a duration; "" is not given.
func (t *TTL) UnmarshalJSON(raw []byte) error {
	t.Given = string(raw) != `""` && string(raw) != "null"
	return t.Length.UnmarshalJSON(raw)
}

// MarshalJSON writes what was read.
func (t TTL) MarshalJSON() ([]byte, error) {
	if !t.Given {
		return []byte(`""`), nil
	}
	return t.Length.MarshalJSON()
}

// Or is the length, or d where none was given.
func (t TTL) Or(d duration.Duration) time.Duration {
	if t.Given {
		return t.Length.Std()
	}
	return d.Std()
}

// ResumeMessage asks to resume.
type ResumeMessage struct {
	Holder string `json:"holder"`
	Token  int64  `json:"token"`
}

// StopMessage asks to stop for good.
type StopMessage struct {
	Reason string            `json:"reason"`
	Grace  duration.Duration `json:"grace"`
}

// NewStopMessage returns one that holds the defaults.
func NewStopMessage() StopMessage { return StopMessage{Grace: duration.Duration(defaultGrace)} }

// ClaimMessage asks for a claim, or to extend the one of the token.
type ClaimMessage struct {
	Holder string            `json:"holder" doc:"required"`
	Lease  duration.Duration `json:"lease"`
	Token  int64             `json:"token"`
}

// NewClaimMessage returns one that holds the defaults.
func NewClaimMessage() ClaimMessage { return ClaimMessage{Lease: duration.Duration(defaultLease)} }

// Check adds what is out of range.
func (m *ClaimMessage) Check(faults *document.Faults) {
	if m.Holder == "" && !faults.Has("holder") {
		faults.Add("holder", "it has to name somebody")
	}
	if len(m.Holder) > MaxHolder {
		faults.Add("holder", "%d bytes; at most %d", len(m.Holder), MaxHolder)
	}
	if m.Lease <= 0 && !faults.Has("lease") {
		faults.Add("lease", "%v; it has to be longer", m.Lease)
	}
}

// UnclaimMessage ends a claim: the holder's own, or by force anybody's.
type UnclaimMessage struct {
	Holder string `json:"holder"`
	Token  int64  `json:"token"`
	Force  bool   `json:"force"`
}

// Check adds what is missing.
func (m *UnclaimMessage) Check(faults *document.Faults) {
	if m.Holder == "" && !m.Force && !faults.Has("holder") && !faults.Has("force") {
		faults.Add("holder", "required; or give force, which ends anybody's claim")
	}
}

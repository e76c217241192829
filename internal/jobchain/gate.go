package jobchain

import (
	"fmt"
	"time"

	"sluice/internal/limits"
)

// Gate is the state of a request apart from its jobs: whether they may run, who
// has claimed it, and when a suspension or the request runs out. It is a plain
// value: a copy may be asked what a message would do before it is accepted.
//
// Whoever hands it a message first calls Pass with the same instant. So a
// deadline that has passed counts before any message, messages count in the
// order in which they are handed over, and every answer agrees with what
// happens.
type Gate struct {
	State       State     `json:"state"`
	Reason      string    `json:"reason,omitempty"`
	Cause       Cause     `json:"cause,omitempty"`
	SuspendedAt time.Time `json:"suspendedAt,omitzero"`
	ResumeBy    time.Time `json:"resumeBy,omitzero"`   // zero: a suspension that never runs out
	DeadlineAt  time.Time `json:"deadlineAt,omitzero"` // zero: none
	GraceUntil  time.Time `json:"graceUntil,omitzero"` // until then jobs that were asked to stop are waited for
	EndedAt     time.Time `json:"endedAt,omitzero"`    // when it was decided how it ends
	Claim       Claim     `json:"claim,omitzero"`
	LastToken   int64     `json:"lastToken,omitempty"`
	Changes     int       `json:"changes,omitempty"` // of State, so that a waiter sees that its answer is due

	// SuspendedFor is the time in SUSPENDED so far, without a suspension that
	// goes on.
	SuspendedFor time.Duration `json:"suspendedFor,omitempty"`
}

// Cause is why a request ended other than by its jobs.
type Cause string

// The causes.
const (
	ByStop     Cause = "stop"
	ByCancel   Cause = "cancel"   // Temporal's
	ByDeadline Cause = "deadline" // the request's
	ByTTL      Cause = "ttl"      // a suspension outlived its TTL
)

// ExpiryGrace is how long the jobs of a request that ran out are waited for.
const ExpiryGrace = 10 * time.Second

// Ended reports that it is decided how the request ends.
func (g *Gate) Ended() bool { return g.State == Complete || g.State == Fail || g.State == Stopped }

// A Refusal is why a message is not accepted.
type Refusal struct {
	Expired bool // the suspension has run out; else the state does not allow it
	Message string
}

func (r *Refusal) Error() string { return r.Message }

func conflict(format string, args ...any) *Refusal {
	return &Refusal{Message: fmt.Sprintf(format, args...)}
}

// refusal is the one for a message that only another state allows.
func (g *Gate) refusal(verb string) *Refusal {
	message := fmt.Sprintf("can't %s: the request is %s", verb, g.State)
	if g.Reason != "" {
		message += " (" + g.Reason + ")"
	}
	return &Refusal{Expired: g.Cause == ByTTL, Message: message}
}

// Pass lets time count: a deadline or a resumeBy that has come ends the request;
// of both, the earlier one.
func (g *Gate) Pass(now time.Time) {
	if g.Ended() {
		return
	}
	ttl := g.State == Suspended && passed(g.ResumeBy, now)
	deadline := passed(g.DeadlineAt, now)
	switch {
	case ttl && (!deadline || g.ResumeBy.Before(g.DeadlineAt)):
		g.end(now, Fail, ByTTL, fmt.Sprintf("suspend TTL exceeded: suspended at %s, not resumed by %s", stamp(g.SuspendedAt), stamp(g.ResumeBy)), ExpiryGrace)
	case deadline:
		g.end(now, Fail, ByDeadline, "deadline "+stamp(g.DeadlineAt)+" exceeded", ExpiryGrace)
	}
}

// WakeAt is when Pass will next change something; zero for never.
func (g *Gate) WakeAt() time.Time {
	if g.Ended() {
		return time.Time{}
	}
	if g.State == Suspended {
		return earliest(g.ResumeBy, g.DeadlineAt)
	}
	return g.DeadlineAt
}

// Finish ends the request as its chain did.
func (g *Gate) Finish(now time.Time, s State, reason string) {
	if !g.Ended() {
		g.end(now, s, "", reason, 0)
	}
}

// Suspend stops the request until it is resumed or ttl is over (0: never).
// already tells that it is suspended; that suspension stays as it is.
func (g *Gate) Suspend(now time.Time, reason string, ttl, grace time.Duration) (already bool, err error) {
	switch {
	case g.Ended():
		return false, g.refusal("suspend")
	case g.State == Suspended:
		return true, nil
	}
	g.State, g.Reason, g.SuspendedAt = Suspended, limits.Clip(reason, limits.Words), now
	g.GraceUntil = now.Add(grace)
	if ttl > 0 {
		g.ResumeBy = now.Add(ttl)
	}
	g.Changes++
	return false, nil
}

// Resume lets the request run again and ends a claim on it. already tells that
// it runs.
func (g *Gate) Resume(now time.Time, holder string, token int64) (already bool, err error) {
	switch {
	case g.Ended():
		return false, g.refusal("resume")
	case g.State == Running:
		return true, nil
	}
	if err := g.mayAct("resume", now, holder, token); err != nil {
		return false, err
	}
	g.SuspendedFor += now.Sub(g.SuspendedAt)
	g.State, g.Reason, g.Claim = Running, "", Claim{}
	g.SuspendedAt, g.ResumeBy, g.GraceUntil = time.Time{}, time.Time{}, time.Time{}
	g.Changes++
	return false, nil
}

// Stop ends the request as STOPPED, from RUNNING and from SUSPENDED. A second
// stop changes nothing.
func (g *Gate) Stop(now time.Time, cause Cause, reason string, grace time.Duration) error {
	switch {
	case g.State == Stopped:
		return nil
	case g.Ended():
		return g.refusal("stop")
	}
	g.end(now, Stopped, cause, limits.Clip(reason, limits.Words), grace)
	return nil
}

func (g *Gate) end(now time.Time, s State, cause Cause, reason string, grace time.Duration) {
	if g.State == Suspended {
		g.SuspendedFor += now.Sub(g.SuspendedAt)
	}
	g.State, g.Cause, g.Reason, g.EndedAt = s, cause, reason, now
	g.GraceUntil = now.Add(grace)
	g.SuspendedAt, g.ResumeBy, g.Claim = time.Time{}, time.Time{}, Claim{}
	g.Changes++
}

func passed(t, now time.Time) bool { return !t.IsZero() && !now.Before(t) }

func earliest(a, b time.Time) time.Time {
	if a.IsZero() || (!b.IsZero() && b.Before(a)) {
		return b
	}
	return a
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// ClaimAnswer answers claim and unclaim. The token is told to its holder only.
type ClaimAnswer struct {
	Claimed   bool       `json:"claimed"`
	Holder    string     `json:"holder"`
	Token     int64      `json:"token"`
	ExpiresAt *time.Time `json:"expiresAt"`
}

// message is what an update or signal asks of the gate.
type message interface {
	// apply changes g as of now. Its error is a *jobchain.Refusal.
	apply(g *jobchain.Gate, now time.Time) error
}

// suspend, resume, stop, claim and unclaim are the messages with what their
// answers need.
type (
	suspendRequest struct {
		jobchain.SuspendMessage
		ttl     time.Duration
		already bool
	}
	resumeRequest struct {
		jobchain.ResumeMessage
		already bool
	}
	stopRequest  struct{ jobchain.StopMessage }
	claimRequest struct {
		jobchain.ClaimMessage
		claim   jobchain.Claim
		claimed bool
	}
	unclaimRequest struct{ jobchain.UnclaimMessage }
)

func (m *suspendRequest) apply(g *jobchain.Gate, now time.Time) (err error) {
	m.already, err = g.Suspend(now, m.Reason, m.ttl, m.Grace.Std())
	return err
}

func (m *resumeRequest) apply(g *jobchain.Gate, now time.Time) (err error) {
	m.already, err = g.Resume(now, m.Holder, m.Token)
	return err
}

func (m *stopRequest) apply(g *jobchain.Gate, now time.Time) error {
	return g.Stop(now, jobchain.ByStop, m.Reason, m.Grace.Std())
}

func (m *claimRequest) apply(g *jobchain.Gate, now time.Time) (err error) {
	m.claim, m.claimed, err = g.TakeClaim(now, m.Holder, m.Token, m.Lease.Std())
	return err
}

func (m *unclaimRequest) apply(g *jobchain.Gate, now time.Time) error {
	return g.ReleaseClaim(now, m.Holder, m.Token, m.Force)
}

// The readers decode a message strictly, over its defaults.

func (r *request) readSuspend(raw json.RawMessage) (*suspendRequest, error) {
	m := &suspendRequest{SuspendMessage: jobchain.NewSuspendMessage()}
	err := shell.Decode(wire.TypeRequest+" "+wire.UpdateSuspend, raw, &m.SuspendMessage)
	m.ttl = m.TTL.Or(r.doc.SuspendTTL)
	return m, err
}

func (r *request) readResume(raw json.RawMessage) (*resumeRequest, error) {
	m := &resumeRequest{}
	return m, shell.Decode(wire.TypeRequest+" "+wire.UpdateResume, raw, &m.ResumeMessage)
}

func (r *request) readStop(raw json.RawMessage) (*stopRequest, error) {
	m := &stopRequest{jobchain.NewStopMessage()}
	return m, shell.Decode(wire.TypeRequest+" "+wire.UpdateStop, raw, &m.StopMessage)
}

func (r *request) readClaim(raw json.RawMessage) (*claimRequest, error) {
	m := &claimRequest{ClaimMessage: jobchain.NewClaimMessage()}
	return m, shell.Decode(wire.TypeRequest+" "+wire.UpdateClaim, raw, &m.ClaimMessage)
}

func (r *request) readUnclaim(raw json.RawMessage) (*unclaimRequest, error) {
	m := &unclaimRequest{}
	return m, shell.Decode(wire.TypeRequest+" "+wire.UpdateUnclaim, raw, &m.UnclaimMessage)
}

// listen sets up the messages and queries.
func (r *request) listen(ctx workflow.Context) error {
	r.signals = shell.NewInbox(ctx, wire.UpdateSuspend, wire.UpdateResume, wire.UpdateStop, wire.SignalStopping)
	return errors.Join(
		handle(ctx, r, wire.UpdateSuspend, "Stop the jobs and start none until resumed.", r.readSuspend, r.onSuspend),
		handle(ctx, r, wire.UpdateResume, "Go on after suspend.", r.readResume, r.onResume),
		handle(ctx, r, wire.UpdateStop, "Stop the jobs and end as STOPPED.", r.readStop, r.onStop),
		handle(ctx, r, wire.UpdateClaim, "Claim the right to resume, or extend the claim.", r.readClaim, r.onClaim),
		handle(ctx, r, wire.UpdateUnclaim, "End a claim.", r.readUnclaim, r.onUnclaim),
		r.answer(ctx),
	)
}

// handle sets up an update: read decodes its input, the message's apply decides,
// answer makes the answer.
func handle[M message, A any](ctx workflow.Context, r *request, name, description string,
	read func(json.RawMessage) (M, error), answer func(workflow.Context, M) (A, error)) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, name,
		func(ctx workflow.Context, raw json.RawMessage) (A, error) {
			r.updates++
			m, err := read(raw)
			if err == nil {
				r.catchUp(ctx)
				r.caughtUp = true
				err = refused(name, r.id, r.spared(r.updates, m, &r.gate, workflow.Now(ctx)))
			}
			if err != nil {
				var none A
				return none, err
			}
			return answer(ctx, m)
		},
		workflow.UpdateHandlerOptions{
			Description: description,
			Validator: func(ctx workflow.Context, raw json.RawMessage) error {
				m, err := read(raw)
				if err != nil || r.signals.Pending() {
					return err // signals that came first decide with the message, in its handler
				}
				ask, now := r.gate, workflow.Now(ctx)
				ask.Pass(now)
				return refused(name, r.id, r.spared(r.updates+1, m, &ask, now))
			},
		})
}

// Temporal takes 2,000 updates in a run, and where a job works on no other run can
// begin. What is left from here on is kept for resume and stop: claims are refused
// first, then whatever would change nothing.
const (
	claimableUpdates = 1_800
	idleUpdates      = 1_900
)

// spared applies a message to g unless the update that it costs, the nth of this
// run, is kept for others.
func (r *request) spared(n int, m message, g *jobchain.Gate, now time.Time) error {
	_, claims := m.(*claimRequest)
	was := *g
	if n <= claimableUpdates || !claims {
		if err := m.apply(g, now); err != nil {
			return err
		}
		if n <= idleUpdates || *g != was {
			return nil
		}
	}
	return &jobchain.Refusal{Message: fmt.Sprintf(
		"the request is %s and has answered %d updates in this run; what is left of Temporal's 2,000 is kept for resume and stop", was.State, n-1)}
}

// refused turns a refusal into the error that the caller gets.
func refused(name, id string, err error) error {
	var refusal *jobchain.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	errType := activities.TypeConflict
	if refusal.Expired {
		errType = activities.TypeExpired
	}
	return activities.Fail(errType, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.TypeRequest + "." + name, Target: id},
		Message:      refusal.Message,
	})
}

// onSuspend answers when nothing stops any more, when the grace is over or after
// the message's wait, or when the request is no longer in this suspension.
func (r *request) onSuspend(ctx workflow.Context, m *suspendRequest) (*Status, error) {
	if !m.already && m.Wait > 0 {
		changes := r.gate.Changes
		until := workflow.Now(ctx).Add(m.Wait.Std())
		r.answerBy = until
		patient, _ := workflow.NewDisconnectedContext(ctx)
		err := workflow.Await(patient, func() bool {
			now := workflow.Now(ctx)
			return r.gate.Changes != changes || r.stopping(now) == 0 || !now.Before(until)
		})
		if err != nil {
			return nil, err
		}
		if r.answerBy.Equal(until) {
			r.answerBy = time.Time{}
		}
	}
	s := r.status(ctx, page{Limit: defaultPage})
	s.AlreadySuspended, s.Notice = m.already, notice(s)
	return s, nil
}

// notice says of a suspended request when that ends it, and how to have it
// otherwise.
func notice(s *Status) string {
	switch {
	case s.State != jobchain.Suspended:
		return ""
	case s.ResumeBy == nil:
		return "stays suspended until it is resumed"
	default:
		return "expires at " + s.ResumeBy.Format(time.RFC3339) + " unless it is resumed before; a suspension with another ttl (--ttl 4h, or 0s to stay) lasts as long, and suspendTTL is the request's own"
	}
}

func (r *request) onResume(ctx workflow.Context, m *resumeRequest) (*Status, error) {
	r.chain.Release()
	s := r.status(ctx, page{Limit: defaultPage})
	s.AlreadyRunning = m.already
	return s, nil
}

func (r *request) onStop(ctx workflow.Context, _ *stopRequest) (*Status, error) {
	return r.status(ctx, page{Limit: defaultPage}), nil
}

func (r *request) onClaim(_ workflow.Context, m *claimRequest) (*ClaimAnswer, error) {
	a := &ClaimAnswer{Claimed: m.claimed, Holder: m.claim.Holder, ExpiresAt: instant(m.claim.ExpiresAt)}
	if m.claimed {
		a.Token = m.claim.Token
	}
	return a, nil
}

func (r *request) onUnclaim(workflow.Context, *unclaimRequest) (*ClaimAnswer, error) {
	return &ClaimAnswer{}, nil
}

// instant is t for a document: null where there is none.
func instant(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

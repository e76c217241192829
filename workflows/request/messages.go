package request

import (
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/duration"
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
		usual   duration.Duration // ttl of a message without one
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
	m.already, err = g.Suspend(now, m.Reason, m.TTL.Or(m.usual), m.Grace.Std())
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

// listen sets up the messages.
func (r *request) listen(ctx workflow.Context) error {
	return r.inbox.Listen(ctx,
		shell.OnQueryOf(wire.QueryStatus, "The request and its jobs.", firstPage, r.answerStatus),
		shell.OnQueryOf(wire.QueryLog, "An entry for each try.", func() logPage { return logPage{page: firstPage()} }, r.tryLog),
		shell.OnQuery(wire.QueryExport, "The request as a document that starts it elsewhere.",
			func() (jobchain.Document, error) { return r.chain.Export(), nil }),
		on(r, wire.UpdateSuspend, "Stop the jobs and start none until resumed.", r.onSuspend).Over(r.newSuspend).AndSignal(take[suspendRequest](r, wire.UpdateSuspend)),
		on(r, wire.UpdateResume, "Go on after suspend.", r.onResume).AndSignal(take[resumeRequest](r, wire.UpdateResume)),
		on(r, wire.UpdateStop, "Stop the jobs and end as STOPPED.", r.onStop).
			Over(func() stopRequest { return stopRequest{jobchain.NewStopMessage()} }).AndSignal(take[stopRequest](r, wire.UpdateStop)),
		on(r, wire.UpdateClaim, "Claim the right to resume, or extend the claim.", r.onClaim).
			Over(func() claimRequest { return claimRequest{ClaimMessage: jobchain.NewClaimMessage()} }),
		on(r, wire.UpdateUnclaim, "End a claim.", r.onUnclaim),
		shell.OnSignal(wire.SignalStopping, r.hearChild),
	)
}

func (r *request) newSuspend() suspendRequest {
	return suspendRequest{SuspendMessage: jobchain.NewSuspendMessage(), usual: r.doc.SuspendTTL}
}

// on is an update: the message's apply decides, answer makes the answer.
func on[M, A any, P interface {
	*M
	message
}](r *request, name, description string, answer func(workflow.Context, P) (A, error)) *shell.Update[M, A] {
	return shell.OnUpdate(name, description, func(ctx workflow.Context, m M) (none A, err error) {
		r.updates++
		r.catchUp(ctx)
		r.caughtUp = true
		if err := refused(ctx, name, r.spared(r.updates, P(&m), &r.gate, workflow.Now(ctx))); err != nil {
			return none, err
		}
		return answer(ctx, &m)
	}).If(func(ctx workflow.Context, m M) error {
		if r.inbox.Pending() {
			return nil // signals that came first decide with the message, in its handler
		}
		ask, now := r.gate, workflow.Now(ctx)
		ask.Pass(now)
		return refused(ctx, name, r.spared(r.updates+1, P(&m), &ask, now))
	})
}

// take applies a signal. What an update would refuse has no effect.
func take[M any, P interface {
	*M
	message
}](r *request, name string) func(workflow.Context, M) error {
	return func(ctx workflow.Context, m M) error {
		return refused(ctx, name, P(&m).apply(&r.gate, workflow.Now(ctx)))
	}
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
func refused(ctx workflow.Context, name string, err error) error {
	var refusal *jobchain.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	errType := activities.TypeConflict
	if refusal.Expired {
		errType = activities.TypeExpired
	}
	return shell.Refused(ctx, name, errType, refusal.Message)
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
	s := r.status(ctx, firstPage())
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
	s := r.status(ctx, firstPage())
	s.AlreadyRunning = m.already
	return s, nil
}

func (r *request) onStop(ctx workflow.Context, _ *stopRequest) (*Status, error) {
	return r.status(ctx, firstPage()), nil
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

package throughput

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/throughput"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// show brings search attributes and details up to date; "" takes the state that
// the owner is in.
func (r *budget) show(ctx workflow.Context, state string) error {
	if state == "" || (state == wire.StateOpen && r.owner.Paused) {
		state = wire.StateOpen
		if r.owner.Paused {
			state = wire.StatePaused
		}
	}
	r.details(ctx)
	resource, err := throughput.ParseResource(r.owner.Resource)
	if err != nil {
		return err
	}
	return r.attributes.Show(ctx, shell.Shown{State: state, Type: wire.TypeThroughput, Target: resource.Table, Trouble: r.owner.Trouble(), Ended: state == wire.StateDone})
}

// oftenShown is the size of a fleet up to which every lease is shown at once.
const oftenShown = 50

// showTrouble brings up to date what a look-up, or the failure of one, has changed.
func (r *budget) showTrouble(ctx workflow.Context) {
	r.details(ctx)
	_ = r.attributes.Show(ctx, shell.Shown{Trouble: r.owner.Trouble()}) // fails only where another does, which is told
}

// details writes what the Web UI shows. It is no event, so it may follow every
// lease.
func (r *budget) details(ctx workflow.Context) {
	now := workflow.Now(ctx)
	if len(r.owner.Holders) > oftenShown && now.Sub(r.detailedAt) < time.Second {
		return // another lease follows
	}
	r.detailedAt = now
	s := r.status(ctx)
	var b strings.Builder
	switch {
	case s.Paused && s.PausedUntil != nil:
		fmt.Fprintf(&b, "**Paused** until %s: %s\n\n", s.PausedUntil.UTC().Format(time.RFC3339), s.Reason)
	case s.Paused:
		fmt.Fprintf(&b, "**Paused** until unpaused: %s\n\n", s.Reason)
	}
	if s.InForceAt != nil && s.InForceAt.After(s.AsOf) {
		fmt.Fprintf(&b, "In force at %s, when the last lease is over that was given before.\n\n", s.InForceAt.UTC().Format(time.RFC3339))
	}
	b.WriteString(r.ceiling(s) + "\n\n")
	fmt.Fprintf(&b, "Consumed: %v units/s. Throttled: %d calls in the last minute.\n\n", s.ConsumedPerSecond, s.ThrottledPerMinute)
	if s.LastError != "" {
		fmt.Fprintf(&b, "Last error: %s\n\n", s.LastError)
	}
	if s.Workers > len(s.Leases) {
		fmt.Fprintf(&b, "%d workers hold leases; the first %d:\n\n", s.Workers, len(s.Leases))
	}
	for i, l := range s.Leases {
		if i == 0 {
			b.WriteString("| worker | units/s | until |\n|---|---|---|\n")
		}
		share := l.UnitsPerSecond.String()
		if l.Unlimited {
			share = "no limit"
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.Worker, share, l.ExpiresAt.UTC().Format(time.TimeOnly))
	}
	if b.String() != r.lastDetails {
		r.lastDetails = b.String()
		shell.ShowDetails(ctx, s.AsOf, shell.OrHeard(ctx, r.owner.Trouble()), r.lastDetails)
	}
}

// ceiling says in words what may be consumed, and why that much.
func (r *budget) ceiling(s *throughput.Status) string {
	switch {
	case !r.owner.Ready():
		return fmt.Sprintf("Not known yet what is provisioned: every worker may consume **%v unit/s**.", throughput.Unit)
	case s.Effective == 0:
		return "No ceiling: on demand, until the service throttles."
	case s.Provisioned == 0:
		return fmt.Sprintf("Ceiling in force: **%v units/s**, learned from throttles of an on-demand table.", s.Effective)
	case r.owner.ByHand > 0:
		return fmt.Sprintf("Ceiling in force: **%v units/s** (%v set by hand, %v of it used).", s.Effective, s.Provisioned, s.Utilization)
	default:
		return fmt.Sprintf("Ceiling in force: **%v units/s** (%v provisioned, %v of it used).", s.Effective, s.Provisioned, s.Utilization)
	}
}

func (r *budget) status(ctx workflow.Context) *throughput.Status {
	status := r.owner.Status(workflow.Now(ctx))
	status.Trouble = shell.OrHeard(ctx, r.owner.Trouble()).OrNil()
	return &status
}

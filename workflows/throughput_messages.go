package workflows

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/throughput"
)

// listen sets up the messages.
func (r *throughputRun) listen(ctx workflow.Context) error {
	r.signals = newInbox(ctx, UpdatePause, UpdateUnpause)
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (*throughput.Status, error) {
		return r.status(ctx), nil
	}); err != nil {
		return err
	}
	if err := update(ctx, r, UpdateLease, r.lease); err != nil {
		return err
	}
	if err := update(ctx, r, UpdateRelease, r.release); err != nil {
		return err
	}
	if err := update(ctx, r, UpdatePause, r.pause); err != nil {
		return err
	}
	if err := update(ctx, r, UpdateUnpause, r.unpause); err != nil {
		return err
	}
	if err := update(ctx, r, UpdateSet, r.set); err != nil {
		return err
	}
	return nil
}

// update registers a handler whose input is decoded strictly, by the validator
// first, so that what is refused leaves nothing in history.
func update[In, Out any](ctx workflow.Context, r *throughputRun, name string, handle func(workflow.Context, In) (Out, error)) error {
	what, target := TypeThroughput+" "+name, r.owner.Resource
	return workflow.SetUpdateHandlerWithOptions(ctx, name,
		func(ctx workflow.Context, raw json.RawMessage) (out Out, err error) {
			var in In
			if err := decode(what, raw, &in, target); err != nil {
				return out, err
			}
			r.signals.take(ctx, r.signalled(ctx)) // they came first
			return handle(ctx, in)
		},
		workflow.UpdateHandlerOptions{Validator: func(_ workflow.Context, raw json.RawMessage) error {
			var in In
			return decode(what, raw, &in, target)
		}})
}

// signalled handles a signal.
func (r *throughputRun) signalled(ctx workflow.Context) func(name string, raw json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		var in ThroughputPause
		err := decode(TypeThroughput+" "+name, raw, &in, r.owner.Resource)
		switch {
		case err != nil:
		case name == UpdatePause:
			_, err = r.pause(ctx, in)
		default:
			_, err = r.unpause(ctx, in)
		}
		return err
	}
}

func (r *throughputRun) release(ctx workflow.Context, in ThroughputRelease) (struct{}, error) {
	r.owner.Release(workflow.Now(ctx), in.Worker)
	r.details(ctx)
	return struct{}{}, nil
}

func (r *throughputRun) pause(ctx workflow.Context, in ThroughputPause) (*throughput.Status, error) {
	r.owner.Pause(workflow.Now(ctx), in.Reason, in.For.Std())
	r.rearm = true
	return r.status(ctx), r.show(ctx, StatePaused)
}

func (r *throughputRun) unpause(ctx workflow.Context, _ ThroughputPause) (*throughput.Status, error) {
	r.owner.Unpause(workflow.Now(ctx))
	r.rearm = true
	return r.status(ctx), r.show(ctx, StateOpen)
}

func (r *throughputRun) set(ctx workflow.Context, in ThroughputSet) (*throughput.Status, error) {
	r.owner.Set(workflow.Now(ctx), in.UnitsPerSecond, in.Utilization, usualUtilization)
	r.rearm = true
	return r.status(ctx), r.show(ctx, "")
}

// show brings search attributes and details up to date; "" takes the state that
// the owner is in.
func (r *throughputRun) show(ctx workflow.Context, state string) error {
	if state == "" || (state == StateOpen && r.owner.Paused) {
		state = StateOpen
		if r.owner.Paused {
			state = StatePaused
		}
	}
	r.details(ctx)
	resource, err := throughput.ParseResource(r.owner.Resource)
	if err != nil {
		return err
	}
	return r.attributes.set(ctx, state, TypeThroughput, resource.Table)
}

// details writes what the Web UI shows. It is no event, so it may follow every
// lease.
func (r *throughputRun) details(ctx workflow.Context) {
	s := r.status(ctx)
	var b strings.Builder
	switch {
	case s.Paused && s.PausedUntil != nil:
		fmt.Fprintf(&b, "**Paused** until %s: %s\n\n", s.PausedUntil.UTC().Format(time.RFC3339), s.Reason)
	case s.Paused:
		fmt.Fprintf(&b, "**Paused** until unpaused: %s\n\n", s.Reason)
	}
	b.WriteString(r.ceiling(s) + "\n\n")
	fmt.Fprintf(&b, "Consumed: %v units/s. Throttled: %d calls in the last minute.\n\n", s.ConsumedPerSecond, s.ThrottledPerMinute)
	if s.LastError != "" {
		fmt.Fprintf(&b, "Last error: %s\n\n", s.LastError)
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
		workflow.SetCurrentDetails(ctx, r.lastDetails)
	}
}

// ceiling says in words what may be consumed, and why that much.
func (r *throughputRun) ceiling(s *throughput.Status) string {
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

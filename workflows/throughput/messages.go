package throughput

import (
	"encoding/json"
	"fmt"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/errortype"
	"sluice/internal/limits"
	"sluice/internal/throughput"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// listen sets up the messages.
func (r *budget) listen(ctx workflow.Context) error {
	r.signals = shell.NewInbox(ctx, wire.UpdatePause, wire.UpdateUnpause)
	if err := workflow.SetQueryHandler(ctx, wire.QueryStatus, func() (*throughput.Status, error) {
		return r.status(ctx), nil
	}); err != nil {
		return err
	}
	if err := update(ctx, r, wire.UpdateLease, r.lease, r.room); err != nil {
		return err
	}
	if err := update(ctx, r, wire.UpdateRelease, r.release); err != nil {
		return err
	}
	if err := update(ctx, r, wire.UpdatePause, r.pause); err != nil {
		return err
	}
	if err := update(ctx, r, wire.UpdateUnpause, r.unpause); err != nil {
		return err
	}
	if err := update(ctx, r, wire.UpdateSet, r.set); err != nil {
		return err
	}
	return nil
}

// update registers a handler whose input is decoded strictly, by the validator
// first, so that what is refused leaves nothing in history.
func update[In, Out any](ctx workflow.Context, r *budget, name string, handle func(workflow.Context, In) (Out, error), checks ...func(In) error) error {
	what, target := wire.TypeThroughput+" "+name, r.owner.Resource
	return workflow.SetUpdateHandlerWithOptions(ctx, name,
		func(ctx workflow.Context, raw json.RawMessage) (out Out, err error) {
			var in In
			if err := shell.Decode(what, raw, &in, target); err != nil {
				return out, err
			}
			r.signals.Take(ctx, r.signalled(ctx)) // they came first
			return handle(ctx, in)
		},
		workflow.UpdateHandlerOptions{Validator: func(_ workflow.Context, raw json.RawMessage) error {
			var in In
			if err := shell.Decode(what, raw, &in, target); err != nil {
				return err
			}
			for _, check := range checks {
				if err := check(in); err != nil {
					return err
				}
			}
			return nil
		}})
}

// room refuses a worker of whom a run could not tell the next.
func (r *budget) room(in throughput.LeaseRequest) error {
	if !r.owner.Full(in.Worker) {
		return nil
	}
	return activities.Fail(errortype.TooLarge, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.TypeThroughput + " " + wire.UpdateLease, Target: r.owner.Resource},
		Message:      fmt.Sprintf("%d workers hold leases, and what is known of them fills what a run can hand on", len(r.owner.Holders)),
	})
}

// signalled handles a signal.
func (r *budget) signalled(ctx workflow.Context) func(name string, raw json.RawMessage) error {
	return func(name string, raw json.RawMessage) error {
		var in Pause
		err := shell.Decode(wire.TypeThroughput+" "+name, raw, &in, r.owner.Resource)
		switch {
		case err != nil:
		case name == wire.UpdatePause:
			_, err = r.pause(ctx, in)
		default:
			_, err = r.unpause(ctx, in)
		}
		return err
	}
}

func (r *budget) release(ctx workflow.Context, in Release) (struct{}, error) {
	r.owner.Release(workflow.Now(ctx), in.Worker)
	r.details(ctx)
	return struct{}{}, nil
}

func (r *budget) pause(ctx workflow.Context, in Pause) (*throughput.Status, error) {
	r.owner.Pause(workflow.Now(ctx), limits.Clip(in.Reason, limits.Words), in.For.Std())
	r.rearm = true
	return r.status(ctx), r.show(ctx, wire.StatePaused)
}

func (r *budget) unpause(ctx workflow.Context, _ Pause) (*throughput.Status, error) {
	r.owner.Unpause(workflow.Now(ctx))
	r.rearm = true
	return r.status(ctx), r.show(ctx, wire.StateOpen)
}

func (r *budget) set(ctx workflow.Context, in Set) (*throughput.Status, error) {
	r.owner.Set(workflow.Now(ctx), in.UnitsPerSecond, in.Utilization, usualUtilization)
	r.rearm = true
	return r.status(ctx), r.show(ctx, "")
}

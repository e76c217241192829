package throughput

import (
	"fmt"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/errortype"
	"sluice/internal/limits"
	"sluice/internal/throughput"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// listen sets up the messages.
func (r *budget) listen(ctx workflow.Context) error {
	return r.inbox.Listen(ctx,
		shell.OnQuery(wire.QueryStatus, "The budget, its rate and who holds shares of it.", func() (*throughput.Status, error) { return r.status(ctx), nil }),
		shell.OnUpdate(wire.UpdateLease, "Lease a share of the capacity.", inOrder(r, r.lease)).If(r.room),
		shell.OnUpdate(wire.UpdateRelease, "Give a share back.", inOrder(r, r.release)),
		shell.OnUpdate(wire.UpdatePause, "Grant nothing until unpaused.", inOrder(r, r.pause)).AndSignal(unanswered(r.pause)),
		shell.OnUpdate(wire.UpdateUnpause, "Grant again.", inOrder(r, r.unpause)).AndSignal(unanswered(r.unpause)),
		shell.OnUpdate(wire.UpdateSet, "Set the rate, or which part of it is used.", inOrder(r, r.set)),
	)
}

// inOrder has the signals that came before an update taken first.
func inOrder[In, Out any](r *budget, handle func(workflow.Context, In) (Out, error)) func(workflow.Context, In) (Out, error) {
	return func(ctx workflow.Context, in In) (Out, error) {
		r.inbox.Take(ctx)
		return handle(ctx, in)
	}
}

// unanswered handles a signal as the update of its name.
func unanswered[In, Out any](handle func(workflow.Context, In) (Out, error)) func(workflow.Context, In) error {
	return func(ctx workflow.Context, in In) error {
		_, err := handle(ctx, in)
		return err
	}
}

// room refuses a worker of whom a run could not tell the next.
func (r *budget) room(ctx workflow.Context, in throughput.LeaseRequest) error {
	if !r.owner.Full(in.Worker) {
		return nil
	}
	return shell.Refused(ctx, wire.UpdateLease, errortype.TooLarge,
		fmt.Sprintf("%d workers hold leases, and what is known of them fills what a run can hand on", len(r.owner.Holders)))
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

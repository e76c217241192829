package throughput

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/throughput"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// lease is the handler of the update lease. The first two wait a moment for what is
// provisioned; more would keep the server from taking other updates.
func (r *budget) lease(ctx workflow.Context, request throughput.LeaseRequest) (throughput.Lease, error) {
	r.owner.Told(request)
	if !r.owner.Ready() {
		r.lookUp(ctx)
		if err := r.awaitLookUp(ctx); err != nil {
			return throughput.Lease{}, err
		}
	}
	lease := r.owner.Lease(workflow.Now(ctx), request)
	r.lookUp(ctx)
	r.details(ctx)
	return lease, nil
}

const (
	// firstLookUp is how long the first leases wait for what is provisioned.
	firstLookUp  = 3 * time.Second
	waitingFirst = 2 // of them at once
)

func (r *budget) awaitLookUp(ctx workflow.Context) error {
	if r.waiting >= waitingFirst {
		return nil
	}
	r.waiting++
	_, err := shell.AwaitFor(ctx, firstLookUp, "until it is known what is provisioned, or leases are given without", func() bool { return r.owner.Ready() || r.describing == nil })
	r.waiting--
	return err
}

// startedByHand looks up what is provisioned where nobody leases at once, so that
// status tells it. A worker's first lease says where to look it up.
func (r *budget) startedByHand(ctx workflow.Context) {
	if workflow.Sleep(ctx, untilFirstLease) == nil && r.owner.Leases == 0 {
		r.lookUp(ctx)
	}
}

// untilFirstLease is when an owner that a worker started has had its first lease.
const untilFirstLease = 2 * time.Second

// lookUp begins to look up what is provisioned where that is due.
func (r *budget) lookUp(ctx workflow.Context) {
	if r.describing != nil || r.rolling || !r.owner.Stale(workflow.Now(ctx)) {
		return
	}
	var own workflow.Context
	own, r.describing = workflow.WithCancel(ctx)
	workflow.Go(own, r.describe)
}

// describe looks up what is provisioned, on the task queue of the worker that leased
// last: with that fleet's credentials. A run that ends gives it up; the next looks
// again. What takes long is a worker that was lost, which the heartbeat timeout tells:
// it counts by the server's clock, and a worker whose own is minutes ahead would be too
// late for any other.
func (r *budget) describe(ctx workflow.Context) {
	options := activities.CallOptions()
	options.TaskQueue = r.owner.TaskQueue
	options.ScheduleToStartTimeout = 10 * time.Second
	options.ScheduleToCloseTimeout = 0
	options.RetryPolicy.MaximumInterval = 4 * time.Second
	options.RetryPolicy.MaximumAttempts = 10 // half a minute
	options.Summary = "what is provisioned for " + r.owner.Resource
	options.Priority.PriorityKey = 1
	var out wire.ProvisionedOutput
	err := shell.Execute(workflow.WithActivityOptions(ctx, options), wire.DescribeCapacity,
		wire.ProvisionedInput{Resource: r.owner.Resource, Table: r.owner.ARN}).Get(ctx, &out)
	r.describing()
	r.describing = nil
	now := workflow.Now(ctx)
	switch {
	case err == nil:
		r.owner.Describe(now, out.UnitsPerSecond)
	case !temporal.IsCanceledError(err):
		r.owner.DescribeFailed(now, activities.Redact(err.Error()))
		r.owner.FaultType = shell.TroubleOf(err).Type
	}
	r.showTrouble(ctx)
}

// giveUpLookUp ends a look-up under way, and begins no other: with a slow service a
// run would wait for it that has no updates left to answer. The next one looks again.
func (r *budget) giveUpLookUp() {
	r.rolling = true
	if r.describing != nil {
		r.describing()
	}
}

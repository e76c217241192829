package throughput

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/throughput"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Workflow owns the budget of one table or index and direction for the whole
// fleet: workers lease shares of it for some seconds. It finds the ceiling by what
// is provisioned (looked up while leases are given), by what was set by hand, and
// by the throttles that workers report. Workers start it on demand; it ends by
// itself after ten minutes without a lease, unless it is paused or set by hand.
//
// Messages: updates lease, release, pause, unpause, set; pause and
// unpause are signals too; query status.
//
// History: a lease costs 5 events (2 where several arrive together), whatever the
// number of calls that it covers; a worker renews every 24 s once its share stays
// alike, and the whole of a large fleet about eight times a second. The look-up costs 6
// events every 24 s while leases are given. An idle owner costs none.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*throughput.Status, error) {
	in := continued{Input: Input{Utilization: usualUtilization}}
	if err := shell.DecodeInput(ctx, wire.TypeThroughput, raw, &in.Input, &in); err != nil {
		return nil, err
	}
	run := &budget{in: in.Input, owner: in.Carried}
	if run.owner == nil {
		run.owner = newOwner(run.in, workflow.Now(ctx))
	}
	shell.Hear(ctx, run.showTrouble)
	if err := run.listen(ctx); err != nil {
		return nil, err
	}
	if err := run.show(ctx, wire.StateOpen); err != nil {
		return nil, err
	}
	if in.Carried == nil {
		workflow.Go(ctx, run.startedByHand)
	}
	return run.serve(ctx)
}

// budget is one run of the workflow.
type budget struct {
	in          Input
	owner       *throughput.Owner
	attributes  shell.Attributes
	describing  workflow.CancelFunc // ends the look-up under way; nil without one
	waiting     int                 // first leases that wait for it
	rolling     bool                // the run is about to end
	rearm       bool                // what the main line waits for has changed
	inbox       shell.Inbox
	next        shell.RollOver
	lastDetails string
	detailedAt  time.Time
}

// serve takes signals, waits for what happens without a message, and for the end.
func (r *budget) serve(ctx workflow.Context) (*throughput.Status, error) {
	for {
		r.rearm = false
		if err := r.await(ctx, func() bool { return r.rearm || r.inbox.Pending() || r.long(ctx) }); err != nil {
			return nil, err
		}
		r.inbox.Take(ctx)
		now := workflow.Now(ctx)
		r.owner.Tick(now)
		if err := r.show(ctx, ""); err != nil {
			return nil, err
		}
		ending := r.owner.Idle(now)
		if !ending && !r.long(ctx) {
			continue
		}
		r.giveUpLookUp()
		if err := r.next.Await(ctx, func() bool { return r.describing == nil && workflow.AllHandlersFinished(ctx) }); err != nil {
			return nil, err
		}
		r.inbox.Take(ctx)
		switch {
		case !ending:
			return nil, workflow.NewContinueAsNewError(ctx, wire.TypeThroughput, continued{r.in, r.owner})
		case r.owner.Idle(workflow.Now(ctx)):
			status := r.owner.Status(workflow.Now(ctx))
			return &status, r.show(ctx, wire.StateDone)
		}
		r.rolling = false
	}
}

// long reports that the run is to end: sooner than the server asks for, since a
// worker that takes it over, or lost its place in it, reads all of it first, while the
// fleet waits for its leases.
func (r *budget) long(ctx workflow.Context) bool {
	info := workflow.GetInfo(ctx)
	return info.GetContinueAsNewSuggested() || info.GetCurrentHistoryLength() >= longHistory
}

const longHistory = 2000

// await waits for the condition or the owner's next instant. While leases keep
// moving that instant the timer in place stays: each would cost two events more.
func (r *budget) await(ctx workflow.Context, condition func() bool) error {
	next := r.owner.Next()
	if next.IsZero() {
		return workflow.Await(ctx, condition)
	}
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout:      max(next.Sub(workflow.Now(ctx)), time.Millisecond),
		TimerOptions: workflow.TimerOptions{Summary: r.timerSummary()},
	}, condition)
	return err
}

func (r *budget) timerSummary() string {
	if r.owner.Paused {
		return "paused until"
	}
	return "ends when idle"
}

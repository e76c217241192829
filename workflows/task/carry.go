package task

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// continued is the input of a run that goes on from another.
type continued struct {
	input
	Carried *carried `json:"carried,omitempty"`
}

// carried is what a task carries across continue-as-new. Its work goes on meanwhile
// as the child of the run that started it.
type carried struct {
	StartedAt time.Time       `json:"startedAt"`
	Lease     taskclaim.Lease `json:"lease"`
	Reclaims  int             `json:"reclaims"`
}

// mayRollOver reports that another run is due and nothing would be lost: the work
// runs and was not told to stop, no renewal is under way, no message is untaken.
func (t *task) mayRollOver(ctx workflow.Context) bool {
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested() && t.outlivesRun() && t.begun && !t.ended && t.why == "" &&
		!t.reclaiming && !t.inbox.Pending() && t.root.Err() == nil
}

// outlivesRun reports that the work goes on when the run that started it ends: only
// the renewals of a claim can make a history long.
func (t *task) outlivesRun() bool { return t.in.Claim != nil }

// rollOver ends this run and starts the next.
func (t *task) rollOver(ctx workflow.Context) error {
	in := t.in
	in.Payload = nil // the work has it
	return workflow.NewContinueAsNewError(ctx, wire.TypeTask, continued{in,
		&carried{StartedAt: t.started, Lease: t.lease, Reclaims: t.reclaims}})
}

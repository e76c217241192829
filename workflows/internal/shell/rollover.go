package shell

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// RollOver decides in which workflow task a run that is due continues as new: in
// none in which an update was accepted. The server sends a task that ends the run
// back when a signal has come meanwhile; whoever sent such an update is told an
// error then, although it is carried out in the next task, and sends it again. Nor
// in one in which Temporal's cancel came: the next run would never hear of it.
type RollOver struct{ tries int }

// maxUpdatedTasks bounds the wait where updates come in every task.
const maxUpdatedTasks = 10

// Now says whether this task may end the run. Where it may not, it has waited for
// another one, in which the caller looks anew at all that it knows. It costs
// nothing unless there was an update in what would be the last task. It fails
// when ctx is cancelled; a workflow that carries its own cancel on, or has looked
// for it, hands in a context that goes on.
func (r *RollOver) Now(ctx workflow.Context) (bool, error) {
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	// Handlers of updates run before the main line, so those of this task are known.
	if updated := arrivalsOf(ctx).updatedIn; updated == 0 || updated != taskOf(ctx) || r.tries >= maxUpdatedTasks {
		return true, nil
	}
	r.tries++
	steady, _ := workflow.NewDisconnectedContext(ctx)
	return false, workflow.NewTimerWithOptions(steady, time.Millisecond,
		workflow.TimerOptions{Summary: "answers updates before the next run"}).Get(steady, nil)
}

// Await waits until the run may continue as new and ready says so.
func (r *RollOver) Await(ctx workflow.Context, ready func() bool) error {
	for {
		if err := workflow.Await(ctx, ready); err != nil {
			return err
		}
		if may, err := r.Now(ctx); may || err != nil {
			return err
		}
	}
}

// taskOf numbers the workflow task that runs; a replay gives it the same number.
func taskOf(ctx workflow.Context) int { return workflow.GetInfo(ctx).GetCurrentHistoryLength() }

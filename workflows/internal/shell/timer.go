package shell

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// Timer is the one timer of a workflow that waits for whichever of its instants
// comes first. It costs two events for each wait, however many instants there
// are.
type Timer struct {
	at     time.Time
	future workflow.Future
	cancel workflow.CancelFunc
}

// Fired reports that the instant has come and was not taken up.
func (t *Timer) Fired() bool { return t.future != nil && t.future.IsReady() }

// Take forgets a timer that has fired: its instant is being looked at.
func (t *Timer) Take() {
	if t.Fired() {
		*t = Timer{}
	}
}

// At is the instant at which the timer fires; zero where none is set.
func (t *Timer) At() time.Time { return t.at }

// Set makes the timer fire at an instant; the zero time is never. Setting the
// same again costs nothing.
func (t *Timer) Set(ctx workflow.Context, at time.Time, summary string) {
	t.Take()
	if at.Equal(t.at) {
		return
	}
	if t.cancel != nil {
		t.cancel()
	}
	*t = Timer{at: at}
	if at.IsZero() {
		return
	}
	wait := max(at.Sub(workflow.Now(ctx)), time.Millisecond)
	ctx, t.cancel = workflow.WithCancel(ctx)
	t.future = workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: summary})
}

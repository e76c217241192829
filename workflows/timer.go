package workflows

import (
	"time"

	"go.temporal.io/sdk/workflow"
)

// timer is the one timer of a workflow that waits for whichever of its instants
// comes first. It costs two events for each wait, however many instants there
// are.
type timer struct {
	at     time.Time
	future workflow.Future
	cancel workflow.CancelFunc
}

// fired reports that the instant has come and was not taken up.
func (t *timer) fired() bool { return t.future != nil && t.future.IsReady() }

// take forgets a timer that has fired: its instant is being looked at.
func (t *timer) take() {
	if t.fired() {
		*t = timer{}
	}
}

// set makes the timer fire at an instant; the zero time is never. Setting the
// same again costs nothing.
func (t *timer) set(ctx workflow.Context, at time.Time, summary string) {
	t.take()
	if at.Equal(t.at) {
		return
	}
	if t.cancel != nil {
		t.cancel()
	}
	*t = timer{at: at}
	if at.IsZero() {
		return
	}
	wait := max(at.Sub(workflow.Now(ctx)), time.Millisecond)
	ctx, t.cancel = workflow.WithCancel(ctx)
	t.future = workflow.NewTimerWithOptions(ctx, wait, workflow.TimerOptions{Summary: summary})
}

// soonest is the earliest of instants, of which zero ones do not count.
func soonest(instants ...time.Time) time.Time {
	var first time.Time
	for _, t := range instants {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

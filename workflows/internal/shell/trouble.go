package shell

import (
	"errors"
	"slices"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/errortype"
	"sluice/internal/wire"
)

// Trouble is what a workflow waits for in vain; the search attribute shows its type.
type Trouble = errortype.Trouble

// Hear has a workflow hear what its activities fail at again and again, and calls
// show when that has changed. Attributes show it where the workflow itself knows of
// no trouble.
func Hear(ctx workflow.Context, show func(workflow.Context)) {
	heard := arrivalsOf(ctx)
	inbox := &Inbox{arrivals: &arrivals{}} // the order of the others is not its business
	OnSignal(wire.SignalTrouble, func(ctx workflow.Context, message wire.TroubleMessage) error {
		heard.hear(message)
		show(ctx)
		return nil
	}).hold(ctx, inbox)
	inbox.Serve(ctx)
}

// Heard is what an activity has told that it fails at. Without a context there is no
// run that could have heard.
func Heard(ctx workflow.Context) Trouble {
	if ctx == nil {
		return Trouble{}
	}
	if troubles := arrivalsOf(ctx).troubles; len(troubles) > 0 {
		return troubles[0].Trouble.Typed()
	}
	return Trouble{}
}

// OrHeard is the trouble that the workflow knows of, else what an activity has told.
func OrHeard(ctx workflow.Context, own Trouble) Trouble {
	if own.Type != "" {
		return own
	}
	return Heard(ctx)
}

// TroubleLine is the trouble in the details that the Web UI shows; "" for none.
func TroubleLine(t Trouble) string {
	if t.Type == "" {
		return ""
	}
	return "**In trouble**, `" + t.Type + "`: " + t.Error + "\n\n"
}

// Forget drops what activities of a type have told, since one has ended. Futures of
// this package do so themselves.
func Forget(ctx workflow.Context, activity string) { arrivalsOf(ctx).forget(activity) }

// mostTroubles bounds what is kept: one is shown.
const mostTroubles = 100

func (a *arrivals) hear(message wire.TroubleMessage) {
	a.troubles = slices.DeleteFunc(a.troubles, func(t wire.TroubleMessage) bool { return t.ActivityID == message.ActivityID })
	if message.Trouble.Type != "" && len(a.troubles) < mostTroubles {
		a.troubles = append(a.troubles, message)
	}
}

// forget drops what activities of a type have told, since one has ended.
func (a *arrivals) forget(activity string) {
	a.troubles = slices.DeleteFunc(a.troubles, func(t wire.TroubleMessage) bool { return t.Activity == activity })
}

// TroubleOf is an error as the trouble that it makes while it is waited for.
func TroubleOf(err error) Trouble {
	if err == nil {
		return Trouble{}
	}
	var timeout *temporal.TimeoutError
	t := Trouble{Type: activities.TypeOf(err), Error: FirstLine(activities.Redact(PlainError(err)))}
	if t.Type == "" && errors.As(err, &timeout) {
		t.Type = activities.TypeUnavailable
	}
	return t.Typed()
}

// Untaken is how long an activity may wait for a worker, before its workflow is told
// that none has taken it and it is scheduled anew: half a minute at first, ever longer
// while none does. An activity that is taken in time costs nothing more.
func Untaken(times int) time.Duration {
	const first, longest = 30 * time.Second, 10 * time.Minute
	return min(first<<min(times, 5), longest)
}

// NoWorker is the trouble of what waits for a worker.
func NoWorker(taskQueue string) Trouble {
	return Trouble{Type: activities.TypeUnavailable, Error: "no worker on queue " + taskQueue + " has taken it"}
}

// NeverTaken reports that an activity ended since no worker took it in time.
func NeverTaken(err error) bool {
	var timeout *temporal.TimeoutError
	return errors.As(err, &timeout) && timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START
}

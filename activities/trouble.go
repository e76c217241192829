package activities

import (
	"context"
	"errors"
	"math/bits"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"

	"sluice/internal/errortype"
	"sluice/internal/wire"
)

// TroubleTeller tells a workflow what its activity fails at while it goes on trying.
// Only a change of the type is told, and ever more rarely in an attempt, so that a
// service that comes and goes all day stays cheap. An activity that does not fail
// tells nothing. nil tells nobody.
type TroubleTeller struct {
	ctx  context.Context //nolint:containedctx // it lives as long as the activity whose trouble it tells
	send func(context.Context, errortype.Trouble) error

	mu         sync.Mutex
	told, want errortype.Trouble
	next       time.Time // not before
	gap        time.Duration
	sending    bool
}

const (
	tellGap    = time.Minute // least time between two changes that are told
	tellGapMax = 2 * time.Hour
)

// TellTrouble is the teller of an activity; told is what its workflow knows when the
// attempt begins.
func TellTrouble(ctx context.Context, told errortype.Trouble) *TroubleTeller {
	if !wire.IsOwnWorkflow(activity.GetInfo(ctx).WorkflowType.Name) {
		return nil
	}
	return &TroubleTeller{ctx: ctx, send: signalTrouble, told: told, want: told}
}

// Tell says what the trouble is now; the zero value is none.
func (t *TroubleTeller) Tell(now errortype.Trouble) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.want = now
	if t.want.Type != t.told.Type && !t.sending {
		t.sending = true
		go t.keepTelling()
	}
}

// keepTelling sends until the workflow knows, or the activity ends.
func (t *TroubleTeller) keepTelling() {
	for {
		t.mu.Lock()
		wait := time.Until(t.next)
		t.mu.Unlock()
		err := Sleep(t.ctx, wait)
		t.mu.Lock()
		want := t.want
		if err != nil || want.Type == t.told.Type {
			t.sending = false
			t.mu.Unlock()
			return
		}
		t.gap = min(max(tellGap, 2*t.gap), tellGapMax)
		t.next = time.Now().Add(t.gap)
		t.mu.Unlock()
		if t.send(t.ctx, want) == nil { // else it is tried again when the gap is over
			t.mu.Lock()
			t.told = want
			t.mu.Unlock()
		}
	}
}

// signalTrouble signals the workflow of the activity of ctx.
func signalTrouble(ctx context.Context, trouble errortype.Trouble) error {
	info := activity.GetInfo(ctx)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), signalTimeout)
	defer cancel()
	return activity.GetClient(ctx).SignalWorkflow(ctx, info.WorkflowExecution.ID, info.WorkflowExecution.RunID, wire.SignalTrouble,
		wire.TroubleMessage{ActivityID: info.ActivityID, Activity: info.ActivityType.Name, Trouble: trouble})
}

const signalTimeout = 5 * time.Second

// TroubleInterceptor tells workflows of ours what their activities fail at that
// Temporal repeats: an hour long, or for ever, without a word to the workflow. It is
// told with the second failure, and with the 4th, 8th and so on.
func TroubleInterceptor() interceptor.WorkerInterceptor { return &repeated{} }

type repeated struct {
	interceptor.WorkerInterceptorBase
}

func (*repeated) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &repeatedInbound{}
	i.Next = next
	return i
}

type repeatedInbound struct {
	interceptor.ActivityInboundInterceptorBase
}

func (i *repeatedInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	result, err := i.Next.ExecuteActivity(ctx, in)
	info := activity.GetInfo(ctx)
	if err != nil && info.Attempt > 1 && bits.OnesCount32(uint32(info.Attempt)) == 1 &&
		!info.IsLocalActivity && wire.IsOwnWorkflow(info.WorkflowType.Name) && repeats(ctx, err) {
		trouble := errortype.Trouble{Type: TypeOf(err), Error: Shorten(Redact(messageOf(err)))}.Typed()
		if told := signalTrouble(ctx, trouble); told != nil {
			activity.GetLogger(ctx).Warn("the workflow could not be told what its activity fails at", "error", told)
		}
	}
	return result, err
}

// repeats reports that Temporal repeats an attempt that ended so.
func repeats(ctx context.Context, err error) bool {
	var application *temporal.ApplicationError
	var canceled *temporal.CanceledError
	switch {
	case ctx.Err() != nil, errors.As(err, &canceled), TypeOf(err) == TypeWorkerStopping:
		return false
	default:
		return !errors.As(err, &application) || !application.NonRetryable()
	}
}

// messageOf is the message of an error of a type, without what Temporal adds to it.
func messageOf(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Message()
	}
	return err.Error()
}

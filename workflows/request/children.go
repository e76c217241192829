package request

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/duration"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// child is a try that is a workflow of its own. It is started with ABANDON, so
// that it goes on when the request continues as new; the run that started it
// learns its end from Temporal, later runs follow it by an activity that may be
// started anew at any time.
type child struct {
	id        string
	isRequest bool // it knows suspend, resume and stop itself
	adopted   bool // started by an earlier run
	joining   bool // it ran already when it was to be started: its try is the activity that looks whether it is ours
	started   workflow.Future
	startedAt time.Time
	timeout   time.Duration
	told      instruction // what a child request was last told
	telling   workflow.Future
	checkAt   time.Time // isRequest: when its running time may have reached the timeout
	checking  *shell.Future[wire.RunningTime]
	timedOut  bool
	begun     bool   // it has done its first task
	trouble   string // why it has not
	lookAt    time.Time
	lookWait  time.Duration
	looking   *shell.Future[wire.ChildLook]
	stopping  int // what a child request last told of its stopping jobs; notTold before
}

// instruction is what a child request was told to do.
type instruction int

const (
	unknown instruction = iota - 1 // an earlier execution may have told it anything
	goOn
	suspendNow
	stopNow
	cancelNow
)

// startChild starts job i as a child. Its timeout counts from when Temporal
// starts it: a workflow has no timeout from when a worker takes it up, as an
// activity's try has.
func (r *request) startChild(i, number int, input json.RawMessage) *try {
	j := r.chain.Job(i)
	c := &child{id: wire.ChildID(r.id, j.ID, strconv.Itoa(number)), isRequest: j.Workflow == wire.TypeRequest, timeout: j.Timeout.Std(), stopping: notTold}
	options := workflow.ChildWorkflowOptions{
		WorkflowID:          c.id,
		TaskQueue:           j.TaskQueue,
		ParentClosePolicy:   enumspb.PARENT_CLOSE_POLICY_ABANDON,
		WaitForCancellation: true,
		Priority:            r.priority(j),
		StaticDetails:       wire.About(j.Workflow),
		StaticSummary:       fmt.Sprintf("job %s of %s, try %d", j.ID, r.id, number),
	}
	if c.isRequest {
		options.TypedSearchAttributes = shell.RequestAttributes(input)
	} else {
		options.WorkflowExecutionTimeout = c.timeout
	}
	ctx, cancel := workflow.WithCancel(r.ctx)
	future := workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), j.Workflow, input)
	c.started = future.GetChildWorkflowExecution()
	return &try{job: i, number: number, cancel: cancel, future: future, child: c}
}

// suspendable reports that a suspension asks this try itself to stop. A child
// request is suspended instead, and goes on being this try.
func (t *try) suspendable() bool { return t.child == nil || !t.child.isRequest }

// running reports that the child exists, so that it can be told something.
func (c *child) running() bool { return c.adopted || c.started.IsReady() && !c.joining }

// instruct tells child requests what the gate wants of them, one message at a
// time. It is called again whenever something may have changed.
func (r *request) instruct(ctx workflow.Context) {
	r.watchTimeouts(ctx)
	for _, t := range r.tries {
		c := t.child
		if c == nil || !c.isRequest || !c.running() {
			continue
		}
		if c.telling != nil && c.telling.IsReady() {
			c.telling = nil
		}
		want := r.wanted()
		if c.timedOut {
			want = max(want, stopNow)
		}
		if c.telling != nil || want == c.told || c.told >= stopNow && want < c.told {
			continue
		}
		c.told, c.stopping = want, notTold
		if want == cancelNow {
			r.cancelTry(t)
			continue
		}
		c.telling = r.tell(ctx, c, want)
	}
}

func (r *request) wanted() instruction {
	switch {
	case r.gate.Cause == jobchain.ByCancel:
		return cancelNow
	case r.gate.Ended():
		return stopNow
	case r.gate.State == jobchain.Suspended:
		return suspendNow
	default:
		return goOn
	}
}

// tell sends a child request the signal for an instruction. It gets what is left
// of the grace that its parent was given.
func (r *request) tell(ctx workflow.Context, c *child, want instruction) workflow.Future {
	grace := duration.Duration(max(r.gate.GraceUntil.Sub(workflow.Now(ctx)), 0))
	name, input := wire.UpdateResume, map[string]any{}
	switch {
	case want == suspendNow:
		name, input = wire.UpdateSuspend, map[string]any{"reason": "suspended with " + r.id, "ttl": "0s", "grace": grace}
	case want == stopNow && c.timedOut:
		name, input = wire.UpdateStop, map[string]any{"reason": c.timeoutText()}
	case want == stopNow:
		name, input = wire.UpdateStop, map[string]any{"reason": r.gate.Reason, "grace": grace}
	}
	return workflow.SignalExternalWorkflow(r.ctx, c.id, "", name, input)
}

// cancelTry asks a try to stop by Temporal's cancel.
func (r *request) cancelTry(t *try) {
	t.asked = true
	if t.child != nil && t.child.adopted {
		workflow.RequestCancelExternalWorkflow(r.ctx, t.child.id, "")
		return
	}
	t.cancel()
}

// news reports that instruct has something to take up.
func (c *child) news() bool {
	return c.unlooked() || c.isRequest && (c.running() && c.startedAt.IsZero() ||
		c.telling != nil && c.telling.IsReady() || c.checking != nil && c.checking.IsReady())
}

func (c *child) timeoutText() string {
	return fmt.Sprintf("ran for longer than its timeout of %v", c.timeout)
}

// adopt goes on with a child that an earlier run started.
func (r *request) adopt(id string, was jobchain.CarriedChild) *try {
	j := r.chain.Job(was.Job)
	c := &child{id: id, isRequest: j.Workflow == wire.TypeRequest, adopted: true, startedAt: was.StartedAt, timeout: j.Timeout.Std(),
		told: instruction(was.Told), timedOut: was.TimedOut, begun: was.Begun, stopping: was.Stopping - 1}
	t := &try{job: was.Job, number: was.Number, child: c}
	r.follow(t)
	return t
}

// follow goes on with a child by the activity that waits for its end.
func (r *request) follow(t *try) {
	ctx, cancel := workflow.WithCancel(r.ctx)
	t.cancel = cancel
	t.future = shell.Follow(ctx, wire.FollowInput{WorkflowID: t.child.id}).Future
}

package request

import (
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/workflows/internal/shell"
)

// Result is what a request that ended COMPLETE or STOPPED returns.
type Result struct {
	State        jobchain.State             `json:"state"`
	Jobs         map[string]json.RawMessage `json:"jobs"` // outputs of COMPLETE jobs, up to 1 MiB together
	JobsOmitted  int                        `json:"jobsOmitted"`
	TotalJobs    int                        `json:"totalJobs"`
	FinishedJobs int                        `json:"finishedJobs"`
}

// maxResultOutputs bounds RequestResult.Jobs, in bytes.
const maxResultOutputs = 1 << 20

// Workflow runs a chain of jobs that can be suspended and resumed.
//
// Updates (suspend, resume, stop: also signals): suspend, resume, stop, claim,
// unclaim. Queries: status, log, export. Temporal's cancel stops the jobs and
// closes it Canceled.
//
// A try of an activity costs three events, of a child workflow three, and a
// repeat after a wait two more for the timer; suspend and resume cost two each
// and one for every running job that is asked to stop. What is left of a history
// are workflow tasks.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*Result, error) {
	r, err := newRequest(ctx, raw)
	if err != nil {
		return nil, shell.Refuse(ctx, string(jobchain.Fail), err)
	}
	if err := r.listen(ctx); err != nil {
		return nil, err
	}
	for {
		r.caughtUp = false
		r.catchUp(ctx)
		if err := r.act(ctx); err != nil {
			return nil, err
		}
		switch {
		case r.gate.Ended() && (len(r.tries) == 0 || !workflow.Now(ctx).Before(r.gate.GraceUntil)):
			return r.end(ctx)
		case r.mayRollOver(ctx):
			now, err := r.next.Now(ctx)
			switch {
			case err != nil:
				return nil, err
			case now:
				return nil, r.rollOver(ctx)
			}
			continue
		case r.gate.State == jobchain.Running:
			r.dispatch(ctx)
		}
		if !r.dirty(ctx) {
			r.publish(ctx)
			r.arm(ctx)
			if err := workflow.Await(r.ctx, func() bool { return r.dirty(ctx) }); err != nil {
				return nil, err
			}
		}
	}
}

// request is one run. All that decides is in gate and chain; they change in
// catchUp and in the update handlers, nowhere else.
type request struct {
	ctx      workflow.Context // goes on when the workflow is cancelled: jobs are stopped by us
	root     workflow.Context // ends with Temporal's cancel
	id       string
	firstRun string // the same after continue-as-new
	queue    string
	doc      jobchain.Document
	target   string // what SluiceTarget says
	chain    *jobchain.Chain
	gate     jobchain.Gate
	created  time.Time
	tries    []*try // those that run, in the order of their dispatch
	ids      activityIDs
	untaken  map[int]int // by job, the dispatches in a row that no worker has taken

	inbox        shell.Inbox
	next         shell.RollOver
	acted        int       // gate.Changes that act has acted on
	caughtUp     bool      // by an update's handler, so that the main line has to look what to do
	answerBy     time.Time // when the suspend that waits for an answer gets it
	finishedAt   time.Time
	canceledSeen bool
	wake         shell.Timer
	looks        shell.Timer // at children
	task         taskBudget
	updates      int // that were accepted in this run
	evaluated    int // steps of evaluation in this run
	shown        shell.Attributes
	link         parentLink
}

// self is what expressions see as `request`.
func (r *request) self() map[string]any {
	run := r.firstRun
	if taskRun, ok := runOfTask(r.id); ok {
		run = taskRun
	}
	return map[string]any{"id": r.id, "type": r.doc.Type, "run": run}
}

// catchUp takes in what has happened since, in the order that decides ties: ends
// of jobs, which are facts; then deadlines that have passed; then signals in the
// order of their arrival; then Temporal's cancel.
func (r *request) catchUp(ctx workflow.Context) {
	now := workflow.Now(ctx)
	r.wake.Take()
	r.settle(now)
	r.gate.Pass(now)
	r.inbox.Take(ctx)
	if r.canceled() && !r.canceledSeen {
		r.canceledSeen = true
		_ = r.gate.Stop(now, jobchain.ByCancel, "canceled", cancelGrace) // one that has ended stays as it is
	}
	if r.gate.State == jobchain.Running {
		r.chain.Release()
	}
}

// cancelGrace is how long a cancelled request waits for its jobs to stop.
const cancelGrace = 10 * time.Second

// settle takes the ends of tries and, when the chain is done, ends the request.
func (r *request) settle(now time.Time) {
	running := r.tries
	r.tries = make([]*try, 0, len(running))
	for _, t := range running {
		if !t.ended() || r.goesOn(t) {
			r.tries = append(r.tries, t)
			continue
		}
		r.chain.End(t.job, now, r.endOf(t))
	}
	if !r.gate.Ended() && r.chain.Done() {
		state := r.chain.Outcome()
		r.gate.Finish(now, state, r.failureReason(state))
	}
}

// dirty reports that there is something to catch up with.
func (r *request) dirty(ctx workflow.Context) bool {
	if r.caughtUp || r.acted != r.gate.Changes || r.inbox.Pending() || (r.canceled() && !r.canceledSeen) || r.wake.Fired() || r.looks.Fired() || r.link.arrived() {
		return true
	}
	for _, t := range r.tries {
		if t.ended() || t.child != nil && t.child.news() {
			return true
		}
	}
	return r.rollOverDue(ctx) && r.mayRollOver(ctx)
}

func (r *request) canceled() bool { return r.root.Err() != nil }

// end closes the workflow as it was decided. Jobs that outlived the grace have
// their outcome dropped.
func (r *request) end(ctx workflow.Context) (*Result, error) {
	now := workflow.Now(ctx)
	for _, t := range r.tries {
		r.chain.Halt(t.job, now, "outlived the grace; its outcome was dropped")
	}
	r.tries = nil
	r.finishedAt = now
	r.publish(ctx)
	if err := workflow.Await(r.ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return nil, err
	}
	switch {
	case r.gate.Cause == jobchain.ByCancel:
		return nil, temporal.NewCanceledError()
	case r.gate.State == jobchain.Fail:
		return nil, r.failure(ctx)
	}
	outputs, omitted := r.chain.Outputs(maxResultOutputs)
	return &Result{State: r.gate.State, Jobs: outputs, JobsOmitted: omitted,
		TotalJobs: r.chain.Total(), FinishedJobs: r.chain.Finished()}, nil
}

// failure is the error of a request that FAILed; its details are the status.
func (r *request) failure(ctx workflow.Context) error {
	errType := activities.TypeRequestFailed
	if r.gate.Cause == jobchain.ByTTL {
		errType = activities.TypeExpired
		workflow.GetMetricsHandler(ctx).Counter("sluice_request_expired").Inc(1)
	}
	return temporal.NewNonRetryableApplicationError(r.gate.Reason, errType, nil, r.status(ctx, firstPage()))
}

// failureReason names the job that failed first and how many others did.
func (r *request) failureReason(s jobchain.State) string {
	if s != jobchain.Fail {
		return ""
	}
	log := r.chain.Log()
	for n := range log.Len() {
		e := log.At(n)
		if e.State != jobchain.Fail || r.chain.View(e.Job).State != jobchain.Fail || r.chain.View(e.Job).Tries != e.Try {
			continue
		}
		reason := fmt.Sprintf("job %s failed: %s", r.chain.Job(e.Job).ID, errorText(e.Type, e.Error))
		if others := r.chain.Count(jobchain.Fail) - 1; others > 0 {
			reason += fmt.Sprintf(" (and %d more)", others)
		}
		return reason
	}
	return fmt.Sprintf("%d jobs failed", r.chain.Count(jobchain.Fail))
}

func errorText(errType, message string) string {
	switch {
	case errType == "":
		return message
	case message == "":
		return errType
	default:
		return errType + ": " + message
	}
}

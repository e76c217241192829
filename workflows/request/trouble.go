package request

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/errortype"
	"sluice/internal/jobchain"
	"sluice/workflows/internal/shell"
)

// A job that no worker takes looks like one that runs: Temporal tells its workflow
// no difference. So each dispatch is given up when nobody has taken it in time, and
// made anew under the same number; that costs nothing where a worker is there.

// takenBy is when a worker has surely taken a dispatch that has not been given up.
const takenBy = 5 * time.Second

// endOfUntaken is the end of a dispatch that no worker has taken.
func (r *request) endOfUntaken(t *try, err error) (e jobchain.End, ok bool) {
	timeout, ok := endItself(err).(*temporal.TimeoutError)
	if !ok || t.child != nil || !shell.NeverTaken(timeout) {
		delete(r.untaken, t.job)
		return e, false
	}
	r.untaken[t.job]++
	missing := shell.NoWorker(r.queueOf(r.chain.Job(t.job)))
	return jobchain.End{Kind: jobchain.Interrupted, Type: missing.Type, Error: missing.Error}, true
}

// trouble is what the request waits for in vain.
func (r *request) trouble(ctx workflow.Context) shell.Trouble {
	if r.gate.State != jobchain.Running {
		return shell.Trouble{}
	}
	now := workflow.Now(ctx)
	for _, t := range r.tries {
		if text := r.tryTrouble(t, now); text != "" {
			return shell.Trouble{Type: errortype.Unavailable, Error: "job " + r.chain.Job(t.job).ID + ": " + text}
		}
	}
	return shell.OrHeard(ctx, r.chain.Waits(now))
}

// tryTrouble is why a try that is dispatched does not get on, "" where it may.
func (r *request) tryTrouble(t *try, now time.Time) string {
	switch {
	case t.child != nil:
		return t.child.trouble
	case now.Before(t.untakenUntil):
		return shell.NoWorker(r.queueOf(r.chain.Job(t.job))).Error
	default:
		return ""
	}
}

// troubles are those of all tries, by job.
func (r *request) troubles(now time.Time) map[int]string {
	all := map[int]string{}
	for _, t := range r.tries {
		if text := r.tryTrouble(t, now); text != "" {
			all[t.job] = text
		}
	}
	return all
}

// showState shows another state of the request. Its trouble is looked at when all
// that can be dispatched is (publish).
func (r *request) showState(ctx workflow.Context) error {
	return r.shown.Show(ctx, shell.Shown{State: string(r.gate.State), Type: r.kind(), Target: r.target, SameTrouble: true, Ended: r.gate.State != jobchain.Running})
}

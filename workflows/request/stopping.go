package request

import (
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/document"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
)

// notTold stands for a number of stopping jobs that is not known.
const notTold = -1

// stoppingMessage is how a child request tells its parent, by wire.SignalStopping,
// how many of its jobs are asked to stop and waited for: the parent's own number
// counts them. It is for requests among themselves.
type stoppingMessage struct {
	Job      string `json:"job" doc:"required"`
	Try      int    `json:"try" doc:"required"`
	Stopping int    `json:"stopping" doc:"required"`
}

// Check adds what is out of range.
func (m *stoppingMessage) Check(faults *document.Faults) {
	if m.Stopping < 0 {
		faults.Add("stopping", "%d; at least 0", m.Stopping)
	}
}

// parentLink is a child request's way to the request that it is a job of.
type parentLink struct {
	parent string // its workflow ID; "" for a request that is nobody's job
	job    string
	try    int
	told   int // of its stopping jobs
	sent   workflow.Future
}

func newParentLink(info *workflow.Info) parentLink {
	l := parentLink{told: notTold}
	if info.ParentWorkflowExecution == nil {
		return l
	}
	parent := info.ParentWorkflowExecution.ID
	if job, try, ok := wire.ChildOf(parent, info.WorkflowExecution.ID); ok {
		l.parent, l.job, l.try = parent, job, try
	}
	return l
}

// tellParent tells the parent how many jobs are stopping, whenever that has changed,
// one message at a time.
func (r *request) tellParent(now time.Time) {
	l := &r.link
	if l.sent != nil && l.sent.IsReady() {
		l.sent = nil // a parent that is gone need not know
	}
	if r.gate.State == jobchain.Running {
		l.told = notTold // the next suspension is told anew
		return
	}
	n := r.stopping(now)
	if l.parent == "" || l.sent != nil || n == l.told {
		return
	}
	l.told = n
	l.sent = workflow.SignalExternalWorkflow(r.ctx, l.parent, "", wire.SignalStopping, stoppingMessage{Job: l.job, Try: l.try, Stopping: n})
}

// arrived reports that there may be more to tell.
func (l *parentLink) arrived() bool { return l.sent != nil && l.sent.IsReady() }

// hearChild takes in what a child request tells of its stopping jobs.
func (r *request) hearChild(_ workflow.Context, m stoppingMessage) error {
	for _, t := range r.tries {
		if t.number == m.Try && r.chain.Job(t.job).ID == m.Job && !t.suspendable() {
			t.child.stopping = m.Stopping
		}
	}
	return nil
}

// stopping is how many jobs are asked to stop and waited for, those of child
// requests among them.
func (r *request) stopping(now time.Time) int {
	if r.gate.State == jobchain.Running || !now.Before(r.gate.GraceUntil) {
		return 0
	}
	n := 0
	for _, t := range r.tries {
		switch {
		case t.suspendable(), t.child.stopping == notTold:
			n++
		case r.gate.Ended():
			n += max(t.child.stopping, 1) // its own end is waited for as well
		default:
			n += t.child.stopping
		}
	}
	return n
}

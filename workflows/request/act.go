package request

import (
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// act does what the gate's state asks for: jobs are asked to stop, child requests
// told what to do, and the state is shown. To repeat it changes nothing.
func (r *request) act(ctx workflow.Context) error {
	if r.gate.State == jobchain.Suspended {
		r.readHeartbeats()
	}
	if r.gate.State != jobchain.Running {
		for _, t := range r.tries {
			if !t.asked && (t.suspendable()) {
				r.cancelTry(t)
			}
		}
	}
	r.instruct(ctx)
	r.tellParent(workflow.Now(ctx))
	r.lookAtChildren(ctx)
	r.acted = r.gate.Changes
	return r.showState(ctx)
}

// kind is what SluiceType says.
func (r *request) kind() string {
	if r.doc.Type != "" {
		return r.doc.Type
	}
	return wire.TypeRequest
}

// arm sets the timer to the next instant at which something changes by itself.
func (r *request) arm(ctx workflow.Context) {
	now := workflow.Now(ctx)
	at := shell.Soonest(r.gate.WakeAt(), r.answerBy)
	switch r.gate.State {
	case jobchain.Running:
		if r.task.over {
			at = shell.Soonest(at, now.Add(time.Millisecond))
		}
		if len(r.tries) < r.doc.Parallel() && !historyFull(workflow.GetInfo(ctx)) {
			at = shell.Soonest(at, r.chain.WakeAt())
		}
		for _, t := range r.tries {
			if now.Before(t.untakenUntil) {
				at = shell.Soonest(at, t.untakenUntil)
			}
			if t.child != nil && t.child.isRequest && t.child.checking == nil && !t.child.timedOut {
				at = shell.Soonest(at, t.child.checkAt)
			}
		}
	default:
		if r.stopping(now) > 0 {
			at = shell.Soonest(at, r.gate.GraceUntil)
		}
	}
	r.wake.Set(r.ctx, at, r.waitsUntil(at))
}

// waitsUntil says what the timer to an instant is for.
func (r *request) waitsUntil(at time.Time) string {
	switch {
	case at.Equal(r.gate.DeadlineAt):
		return "deadline of the request"
	case r.gate.State == jobchain.Suspended && at.Equal(r.gate.ResumeBy):
		return "suspension expires " + at.UTC().Format("15:04 UTC")
	case at.Equal(r.answerBy):
		return "until suspend is answered"
	case r.gate.State != jobchain.Running:
		return "end of the grace of jobs that were asked to stop"
	case r.task.over:
		return "more jobs in the next workflow task"
	}
	if i, ok := r.chain.NextWaiting(); ok && at.Equal(r.chain.WakeAt()) {
		return "retry of " + r.chain.Job(i).ID
	}
	for _, t := range r.tries {
		if at.Equal(t.untakenUntil) {
			return "until it is clear that a worker has taken " + r.chain.Job(t.job).ID
		}
	}
	return "until a child request may be over its timeout"
}

// publish shows where the request is in the Web UI.
func (r *request) publish(ctx workflow.Context) {
	_ = r.shown.Show(ctx, shell.Shown{Trouble: r.trouble(ctx), Ended: r.gate.State != jobchain.Running}) // fails only where another does, which is told
	shell.ShowDetails(ctx, workflow.Now(ctx), r.trouble(ctx), r.details(ctx))
}

// Rows of the job table in the details: what runs or was stopped, and what failed
// lately.
const (
	detailsRunning = 10
	detailsFailed  = 5
	detailsSearch  = 200 // log entries looked through for failures
)

// details is the request in Markdown: progress, what it waits for and until
// when, its last errors.
func (r *request) details(ctx workflow.Context) string {
	var b strings.Builder
	fmt.Fprintf(&b, "**%s** — %d of %d jobs complete, %d running", r.gate.State, r.chain.Finished(), r.chain.Total(), len(r.tries))
	if failed := r.chain.Count(jobchain.Fail); failed > 0 {
		fmt.Fprintf(&b, ", %d failed", failed)
	}
	if stopped := r.chain.Count(jobchain.Stopped); stopped > 0 {
		fmt.Fprintf(&b, ", %d stopped", stopped)
	}
	b.WriteString("\n\n")
	r.detailsOfWait(&b, workflow.Now(ctx))
	rows := r.tries[:min(len(r.tries), detailsRunning)]
	stopped := r.chain.StoppedJobs(detailsRunning - len(rows))
	failed := r.lastFailures()
	if len(rows)+len(stopped)+len(failed) == 0 {
		return b.String()
	}
	b.WriteString("| job | what | task queue | state | try | dispatched | waits behind it | trouble or error |\n|---|---|---|---|---|---|---|---|\n")
	for _, t := range rows {
		r.detailsRow(&b, t.job, r.tryTrouble(t, workflow.Now(ctx)))
	}
	for _, i := range append(stopped, failed...) {
		r.detailsRow(&b, i, "")
	}
	if more := len(r.tries) - len(rows); more > 0 {
		fmt.Fprintf(&b, "\n%d more are running.\n", more)
	}
	return b.String()
}

func (r *request) detailsOfWait(b *strings.Builder, now time.Time) {
	if r.gate.Reason != "" {
		fmt.Fprintf(b, "Reason: %s\n\n", markdown(r.gate.Reason))
	}
	if n := r.stopping(now); n > 0 {
		fmt.Fprintf(b, "Waits until %s for %d jobs to stop.\n\n", r.gate.GraceUntil.UTC().Format(time.RFC3339), n)
	}
	switch {
	case r.gate.State == jobchain.Suspended && r.gate.ResumeBy.IsZero():
		b.WriteString("Waits to be resumed; does not expire.\n\n")
	case r.gate.State == jobchain.Suspended:
		fmt.Fprintf(b, "Waits to be resumed, until %s.\n\n", r.gate.ResumeBy.UTC().Format(time.RFC3339))
	case r.gate.State == jobchain.Running && len(r.tries) == 0 && !r.chain.WakeAt().IsZero():
		fmt.Fprintf(b, "Waits until %s for the next try.\n\n", r.chain.WakeAt().UTC().Format(time.RFC3339))
	}
	if r.gate.Claim.Live(now) {
		fmt.Fprintf(b, "Claimed by %s until %s.\n\n", markdown(r.gate.Claim.Holder), r.gate.Claim.ExpiresAt.UTC().Format(time.RFC3339))
	}
	if !r.gate.DeadlineAt.IsZero() {
		fmt.Fprintf(b, "Deadline: %s.\n\n", r.gate.DeadlineAt.UTC().Format(time.RFC3339))
	}
}

// detailsRow shows job i; trouble is what it can't know itself.
func (r *request) detailsRow(b *strings.Builder, i int, trouble string) {
	v := r.chain.View(i)
	if trouble == "" {
		trouble = errorText(v.Type, v.Error)
	}
	j := r.chain.Job(i)
	fmt.Fprintf(b, "| %s | %s | %s | %s | %d | %s | %s | %s |\n", j.ID, markdown(j.Name()), markdown(r.queueOf(j)), v.State, v.Tries,
		v.Started.UTC().Format(shell.Instant), r.behind(i), markdown(trouble))
}

// mostBehind is how many jobs that wait for another are named.
const mostBehind = 3

// behind names jobs that wait for job i.
func (r *request) behind(i int) string {
	ids, more := r.chain.Behind(i, mostBehind)
	text := strings.Join(ids, ", ")
	if more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// lastFailures are the jobs of the latest failures in the log, newest first.
func (r *request) lastFailures() []int {
	log := r.chain.Log()
	var jobs []int
	for n := log.Len() - 1; n >= max(0, log.Len()-detailsSearch) && len(jobs) < detailsFailed; n-- {
		e := log.At(n)
		if v := r.chain.View(e.Job); e.State == jobchain.Fail && v.State != jobchain.Running && v.Tries == e.Try {
			jobs = append(jobs, e.Job)
		}
	}
	return jobs
}

// markdown keeps text from breaking a table.
func markdown(text string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ").Replace(text)
}

package ingest

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Result is what Ingest answers.
type Result struct {
	Run        string             `json:"run"`
	Objects    int64              `json:"objects"`
	Records    int64              `json:"records"`
	Delivered  int64              `json:"delivered"`  // distinct
	Missing    int64              `json:"missing"`    // records that were not delivered
	Duplicated int64              `json:"duplicated"` // deliveries beyond the first of a record
	Tasks      int64              `json:"tasks"`      // that ended
	Seconds    float64            `json:"seconds"`
	Report     wire.IngestLocated `json:"report"`
	// LastError is what failed last on the way, also where it went well in the end.
	LastError string `json:"lastError,omitempty"`
}

// Status answers the query status.
type Status struct {
	AsOf       time.Time      `json:"asOf"`
	State      string         `json:"state"` // OPEN or DONE
	Phase      string         `json:"phase"`
	Run        string         `json:"run"`
	Objects    int64          `json:"objects"`
	Tasks      int64          `json:"tasks"`      // that ended, as of the last change of phase
	Generation int            `json:"generation"` // of the delivery's quiet
	Deadline   *time.Time     `json:"deadline"`
	Claimer    string         `json:"claimer"`
	Counter    string         `json:"counter"`
	Result     *Result        `json:"result"`
	Trouble    *shell.Trouble `json:"trouble"`
}

func (r *run) status() (Status, error) {
	s := Status{
		AsOf: r.now().UTC(), State: wire.StateOpen, Phase: r.phase, Run: r.plan.Run, Objects: r.objects, Tasks: r.tasks,
		Generation: r.generation, Claimer: wire.ClaimID(r.plan.Workflow), Counter: wire.CountID(r.in.Delivery.Notifications), Result: r.result,
	}
	s.Trouble = shell.OrHeard(r.ctx, r.trouble()).OrNil()
	if !r.deadline.IsZero() {
		s.Deadline = &r.deadline
	}
	if r.result != nil {
		s.State = wire.StateDone
	}
	return s, nil
}

// trouble is what was passed over last since the deadline had passed.
func (r *run) trouble() shell.Trouble {
	if r.result != nil {
		return shell.Trouble{}
	}
	return r.passed
}

// show tells the Web UI where the run is.
func (r *run) show(ctx workflow.Context, phase, words string) {
	r.phase, r.words = phase, words
	r.showTrouble(ctx)
}

// showTrouble shows anew where the run is, since what it waits for is in trouble or
// out of it.
func (r *run) showTrouble(ctx workflow.Context) {
	_ = r.attributes.Show(ctx, shell.Shown{Trouble: r.trouble(), Ended: r.result != nil}) // fails only where another does, which is told
	if now := shell.OrHeard(ctx, r.trouble()); now.Error != "" {
		r.lastError = now.Error
	}
	phase, words := r.phase, r.words
	details := fmt.Sprintf("**%s** %s\n\n", phase, words)
	if r.result != nil {
		details = fmt.Sprintf("**DONE** %d of %d records delivered, %d missing, %d duplicated. Report: `s3://%s/%s`\n\n",
			r.result.Delivered, r.result.Records, r.result.Missing, r.result.Duplicated, r.result.Report.Bucket, r.result.Report.Key)
	}
	details += fmt.Sprintf("Objects of `s3://%s/%s` go by queue `%s` and stream `%s` to `s3://%s/%s`.\n\nClaimer `%s`, counter `%s`.",
		r.in.Bucket, r.in.Prefix, r.in.Queue, r.in.Stream, r.in.Delivery.Bucket, r.in.Delivery.Prefix,
		wire.ClaimID(r.plan.Workflow), wire.CountID(r.in.Delivery.Notifications))
	if !r.deadline.IsZero() {
		details += fmt.Sprintf("\n\nDeadline %s.", r.deadline.Format(time.RFC3339))
	}
	shell.ShowDetails(ctx, r.now(), shell.OrHeard(ctx, r.trouble()), details)
}

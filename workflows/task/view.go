package task

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Status is the answer to status, and the result.
type Status struct {
	AsOf       time.Time      `json:"asOf"`
	TaskID     string         `json:"taskId"`
	RunID      int64          `json:"runId"`
	State      string         `json:"state"`
	Reason     string         `json:"reason"` // of an exception
	Queue      string         `json:"queue"`
	Claimer    string         `json:"claimer"`
	StartedAt  time.Time      `json:"startedAt"`
	FinishedAt *time.Time     `json:"finishedAt"`
	TakenUntil *time.Time     `json:"takenUntil"` // with a task service: the claim in force
	Reclaims   int            `json:"reclaims"`
	LastError  string         `json:"lastError"`
	Trouble    *shell.Trouble `json:"trouble"`
}

func (t *task) status(now time.Time) Status {
	status := Status{
		AsOf: now, TaskID: t.in.TaskID, RunID: t.in.RunID, State: t.state, Reason: t.reason, Queue: t.in.Queue,
		Claimer: t.in.Claimer.WorkflowID, StartedAt: t.started, FinishedAt: t.finished, Reclaims: t.reclaims, LastError: t.lastError,
	}
	if t.in.Claim != nil {
		status.TakenUntil = &t.lease.TakenUntil
	}
	return status
}

// show tells the Web UI what the task waits for.
func (t *task) show(ctx workflow.Context) {
	words := map[string]string{
		wire.TaskRunning:  fmt.Sprintf("**Running** `%s`.", t.in.Run.Workflow),
		wire.TaskStopping: fmt.Sprintf("**Stopping** `%s`: %s.", t.in.Run.Workflow, t.lastError),
		TaskReporting:     "**Reporting** the outcome to the task service.",
	}[t.state]
	if words == "" {
		words = fmt.Sprintf("**%s** %s", t.state, t.reason)
	}
	if t.in.Claim != nil && t.finished == nil {
		words += fmt.Sprintf("\n\nClaimed until %s; renewals: %d.", t.lease.TakenUntil.Format(time.RFC3339), t.reclaims)
	}
	if t.lastError != "" {
		words += "\n\nLast error: " + t.lastError
	}
	shell.ShowDetails(ctx, workflow.Now(ctx), shell.Heard(ctx), words)
	// Who started the task has set all but its trouble.
	_ = t.shown.Show(ctx, shell.Shown{Ended: t.finished != nil}) // fails only where another does, which is told
}

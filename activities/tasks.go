package activities

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"sluice/internal/backoff"
	"sluice/internal/taskclaim"
)

// Tasks is the activities of the workflow Task.
type Tasks struct {
	Temporal client.Client
	Service  *TaskService
}

func (t *Tasks) activities() []named {
	return []named{{TaskReclaim, t.Reclaim}, {TaskResolve, t.Resolve}, {TaskFinished, t.Finished}}
}

// TaskRef names a run at a task service.
type TaskRef struct {
	Service string `json:"service"`
	TaskID  string `json:"taskId"`
	RunID   int64  `json:"runId"`
}

// Reclaim renews the claim on a run. It fails with Conflict when the service has
// decided otherwise (409, and every other definite refusal), which ends the
// work; anything else is Unavailable and repeated. A repeat renews once more,
// which does no harm.
func (t *Tasks) Reclaim(ctx context.Context, ref TaskRef) (taskclaim.Lease, error) {
	ctx, stop := KeepAlive(ctx, WorkingHeartbeat, nil)
	defer stop()
	answer := t.Service.call(ctx, "POST", runURL(ref.Service, ref.TaskID, ref.RunID, "reclaim"), nil)
	details := ErrorDetails{Operation: TaskReclaim, Target: TaskID(ref.TaskID, ref.RunID), Code: answer.String()}
	var body struct {
		TakenUntil time.Time `json:"takenUntil"`
	}
	switch fate := taskclaim.FateOf(answer.status); {
	case fate == taskclaim.Drop:
		return taskclaim.Lease{}, Fail(TypeConflict, Failure{ErrorDetails: details, Message: "the claim is lost: " + answer.String()})
	case fate == taskclaim.Keep:
		if err := Interrupted(ctx, TaskReclaim, nil); err != nil {
			return taskclaim.Lease{}, err
		}
		return taskclaim.Lease{}, Fail(TypeUnavailable, Failure{ErrorDetails: details, Message: answer.String(), Delay: attemptDelay(ctx, 10*time.Second)})
	case json.Unmarshal(answer.body, &body) != nil || body.TakenUntil.IsZero():
		return taskclaim.Lease{}, Fail(TypeUnavailable, Failure{ErrorDetails: details, Message: "the answer cannot be read", Delay: attemptDelay(ctx, 10*time.Second)})
	default:
		return taskclaim.Local(body.TakenUntil, answer.date, answer.sent, answer.received), nil
	}
}

// ResolveInput is what Resolve reports.
type ResolveInput struct {
	TaskRef
	Outcome
}

// Resolve reports how a run ended, until the service has answered. A run that
// the service has resolved already (409) is done; so a repeat does no harm.
func (t *Tasks) Resolve(ctx context.Context, in ResolveInput) error {
	ctx, stop := KeepAlive(ctx, WorkingHeartbeat, nil)
	defer stop()
	answer := t.Service.resolve(ctx, in.Service, in.TaskID, in.RunID, in.Outcome)
	if taskclaim.Resolved(answer.status) {
		if answer.status >= 300 {
			activity.GetLogger(ctx).Info("outcome not taken: the run is resolved", "task", TaskID(in.TaskID, in.RunID), "answer", answer.String())
		}
		return nil
	}
	if err := Interrupted(ctx, TaskResolve, nil); err != nil {
		return err
	}
	return Fail(TypeUnavailable, Failure{
		ErrorDetails: ErrorDetails{Operation: TaskResolve, Target: TaskID(in.TaskID, in.RunID), Code: answer.String()},
		Message:      answer.String(), Delay: attemptDelay(ctx, failureCap),
	})
}

// attemptDelay is the back-off before the next attempt, with jitter, which
// Temporal's own policy lacks.
func attemptDelay(ctx context.Context, longest time.Duration) time.Duration {
	policy := backoff.Policy{Base: time.Second, Cap: longest}
	n := int(activity.GetInfo(ctx).Attempt)
	return policy.Ceiling(n)/2 + policy.Delay(n, rand.Float64())/2
}

// FinishedInput is what Finished tells, and whom.
type FinishedInput struct {
	Claimer ClaimerRef   `json:"claimer"`
	Task    FinishedTask `json:"task"`
}

// Finished tells a claimer that a task of its has ended. A claimer that is gone
// needs no telling. It runs as a local activity: one history event of the Task,
// and none that waits for the claimer.
func (t *Tasks) Finished(ctx context.Context, in FinishedInput) error {
	err := t.Temporal.SignalWorkflow(ctx, in.Claimer.WorkflowID, "", SignalTaskFinished, in.Task)
	if isNotFound(err) {
		return nil
	}
	return err
}

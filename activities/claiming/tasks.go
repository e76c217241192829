package claiming

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/activities/taskservice"
	"sluice/internal/backoff"
	"sluice/internal/limits"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// Tasks is the activities of the workflow Task.
type Tasks struct {
	Temporal client.Client
	Service  *taskservice.Client

	ends ends
}

// NewTasks makes the activities of the workflow Task.
func NewTasks(temporal client.Client, service *taskservice.Client) *Tasks {
	t := &Tasks{Temporal: temporal, Service: service}
	t.ends.signal = t.signalFinished
	return t
}

// All lists the activities under their names.
func (t *Tasks) All() []activities.Named {
	return []activities.Named{activities.On(wire.TaskReclaim, t.Reclaim), activities.Do(wire.TaskResolve, t.Resolve),
		activities.Do(wire.TaskFinished, t.Finished), activities.Do(wire.TaskTerminate, t.Terminate)}
}

// Reclaim renews the claim on a run. It fails with Conflict when the service has
// decided otherwise (409, and every other definite refusal), which ends the
// work; anything else is Unavailable and repeated. A repeat renews once more,
// which does no harm.
func (t *Tasks) Reclaim(ctx context.Context, ref wire.TaskRef) (taskclaim.Lease, error) {
	ctx, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer stop()
	answer := t.Service.Call(ctx, "POST", taskservice.RunURL(ref.Service, ref.TaskID, ref.RunID, "reclaim"), nil)
	details := activities.ErrorDetails{Operation: wire.TaskReclaim.Name, Target: wire.TaskID(ref.TaskID, ref.RunID), Code: answer.String()}
	var body struct {
		TakenUntil time.Time `json:"takenUntil"`
	}
	switch fate := taskclaim.FateOf(answer.Status); {
	case fate == taskclaim.Drop:
		return taskclaim.Lease{}, activities.Fail(activities.TypeConflict, activities.Failure{ErrorDetails: details, Message: "the claim is lost: " + answer.String()})
	case fate == taskclaim.Keep:
		if err := activities.Interrupted(ctx, wire.TaskReclaim.Name, nil); err != nil {
			return taskclaim.Lease{}, err
		}
		return taskclaim.Lease{}, activities.Fail(activities.TypeUnavailable, activities.Failure{ErrorDetails: details, Message: answer.String(), Delay: attemptDelay(ctx, 10*time.Second)})
	case json.Unmarshal(answer.Body, &body) != nil || body.TakenUntil.IsZero():
		return taskclaim.Lease{}, activities.Fail(activities.TypeUnavailable, activities.Failure{ErrorDetails: details, Message: "the answer cannot be read", Delay: attemptDelay(ctx, 10*time.Second)})
	default:
		return taskclaim.Local(body.TakenUntil, answer.Date, answer.Sent, answer.Received), nil
	}
}

// Resolve reports how a run ended, until the service has answered. A run that
// the service has resolved already (409) is done; so a repeat does no harm.
func (t *Tasks) Resolve(ctx context.Context, in wire.ResolveInput) error {
	ctx, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer stop()
	answer := t.Service.Resolve(ctx, in.Service, in.TaskID, in.RunID, in.Outcome)
	if taskclaim.Resolved(answer.Status) {
		if answer.Status >= 300 {
			activity.GetLogger(ctx).Info("outcome not taken: the run is resolved", "task", wire.TaskID(in.TaskID, in.RunID), "answer", answer.String())
		}
		return nil
	}
	if err := activities.Interrupted(ctx, wire.TaskResolve.Name, nil); err != nil {
		return err
	}
	return activities.Fail(activities.TypeUnavailable, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.TaskResolve.Name, Target: wire.TaskID(in.TaskID, in.RunID), Code: answer.String()},
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

// Finished tells a claimer that a task of its has ended, together with others that
// end at the time. It runs as a local activity: one history event of the Task, and
// none that waits for the claimer.
func (t *Tasks) Finished(ctx context.Context, in wire.FinishedInput) error {
	return t.ends.tell(ctx, in)
}

// signalFinished tells a claimer of the ends of tasks. A claimer that is gone needs
// no telling.
func (t *Tasks) signalFinished(ctx context.Context, claimer string, tasks []wire.FinishedTask) error {
	err := t.Temporal.SignalWorkflow(ctx, claimer, "", wire.SignalFinished, wire.FinishedTasks{Tasks: tasks})
	if activities.IsNotFound(err) {
		return nil
	}
	return err
}

// Terminate ends the work of a task that does not stop. One that has ended needs no
// more; so a repeat does no harm. It runs as a local activity, as Finished does.
func (t *Tasks) Terminate(ctx context.Context, in wire.FollowInput) error {
	return terminateWork(ctx, t.Temporal, in.WorkflowID)
}

// terminateWork ends the work of a task that is over, if it runs.
func terminateWork(ctx context.Context, c client.Client, id string) error {
	err := c.TerminateWorkflow(ctx, id, "", "its task is over")
	if activities.IsNotFound(err) {
		return nil
	}
	return err
}

// longestKey bounds the key in a summary, in bytes: Temporal takes 400.
const longestKey = 200

// summary is the task's line in the Web UI: the object that it works on, where its
// payload names one by `args.key`, as the tasks of Ingest do.
func (c *candidate) summary() string {
	var work struct {
		Args struct {
			Key string `json:"key"`
		} `json:"args"`
	}
	words := fmt.Sprintf("task %s, run %d, from queue %s", c.message.TaskID, c.runID, c.from.Name())
	if len(c.payload) > largePayload || json.Unmarshal(c.payload, &work) != nil || work.Args.Key == "" {
		return words
	}
	return limits.Clip(work.Args.Key, longestKey) + " — " + words
}

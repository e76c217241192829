package request

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// endOf tells what the end of a try means for its job.
func (r *request) endOf(t *try) jobchain.End {
	asked := t.asked && t.suspendable()
	output, err := r.output(t)
	shell.Forget(r.ctx, r.chain.Job(t.job).Activity)
	e, untaken := r.endOfUntaken(t, err)
	switch {
	case untaken && !asked: // it is dispatched again
	case err == nil && t.child != nil && t.child.isRequest:
		e = endOfRequest(output)
	case err == nil:
		e = jobchain.End{Kind: jobchain.Succeeded, Output: output}
	default:
		e = endByError(err, asked)
	}
	switch {
	case e.Kind != jobchain.Succeeded && t.child != nil && t.child.timedOut:
		e = jobchain.End{Kind: jobchain.Failed, Type: typeTimeout, Error: t.child.timeoutText()}
	case e.Type == typeNotRegistered && t.child == nil:
		j := r.chain.Job(t.job)
		e.Error = fmt.Sprintf("the worker that polls queue %s does not know the activity %s", r.queueOf(j), j.Activity)
	}
	if e.Kind == jobchain.Paused && e.Checkpoint == nil {
		e.Checkpoint = t.heartbeat
	}
	e.IDSpent = r.ids.ended(t, err)
	e.Random = r.random(t)
	return e
}

// typeTimeout is the type that the log shows for Temporal's timeouts.
const typeTimeout = "Timeout"

// typeCanceled is the type that the log shows for Temporal's cancel.
const typeCanceled = "Canceled"

// typeNotRegistered is the SDK's type for an activity that its worker does not
// have. Its text names all that the worker has, in no order.
const typeNotRegistered = "ActivityNotRegisteredError"

// notStarted is what the server puts in the place of a checkpoint when an
// activity is cancelled that no worker has begun.
const notStarted = `"ACTIVITY_ID_NOT_STARTED"`

// endByError tells one kind of failure from another by type, never by text, and
// has the table judge it. What stands deeper in the chain than the end itself
// happened to something that the job did, and is its own business: but for the
// type of an application error, which names the cause.
func endByError(err error, asked bool) jobchain.End {
	e := jobchain.End{Error: shell.FirstLine(err.Error())}
	var failure jobchain.Failure
	var application *temporal.ApplicationError
	switch end := endItself(err).(type) {
	case *temporal.TimeoutError:
		e.Type, e.Error = typeTimeout, end.TimeoutType().String()
		e.Checkpoint = shell.Detail(end.HasLastHeartbeatDetails(), end.LastHeartbeatDetails)
		if failure.HeartbeatLost = end.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT; failure.HeartbeatLost {
			e.Error = "no heartbeat: the worker is lost"
		}
	case *temporal.CanceledError:
		e.Type, e.Error = typeCanceled, "canceled"
		if e.Checkpoint = shell.Detail(end.HasDetails(), end.Details); string(e.Checkpoint) == notStarted {
			e.Checkpoint = nil
		}
	case *activities.UnreadableError: // it has succeeded, and is not run again
		e.Kind, e.Type = jobchain.Final, activities.TypeInvalidInput
		return e
	default:
		if errors.As(err, &application) {
			e.Type, e.Error = application.Type(), shell.FirstLine(application.Message())
			failure.NonRetryable, e.Delay = application.NonRetryable(), application.NextRetryDelay()
		}
	}
	failure.Type = e.Type
	e.Kind = jobchain.Judge(failure, asked)
	if application != nil && jobchain.KnownType(e.Type) && e.Kind != jobchain.Final {
		e.Checkpoint = shell.CheckpointIn(application)
	}
	return e
}

// endItself is how Temporal closed an activity or child.
func endItself(err error) error {
	switch of := err.(type) {
	case *temporal.ActivityError:
		return of.Unwrap()
	case *temporal.ChildWorkflowExecutionError:
		return of.Unwrap()
	default:
		return err
	}
}

// output is what the try returned, as JSON.
func (r *request) output(t *try) (json.RawMessage, error) {
	if t.child != nil && t.child.adopted {
		return shell.FollowedEnd(r.ctx, shell.FutureOf(wire.FollowWorkflow, t.future))
	}
	var value converter.RawValue
	if err := t.future.Get(r.ctx, &value); err != nil {
		return nil, err
	}
	return activities.JSONOf(value.Payload())
}

// endOfRequest tells what the result of a child request means: one that was
// stopped stops the job.
func endOfRequest(output json.RawMessage) jobchain.End {
	var result struct {
		State jobchain.State `json:"state"`
	}
	if json.Unmarshal(output, &result) == nil && result.State == jobchain.Stopped {
		return jobchain.End{Kind: jobchain.Halted, Error: "the child request was stopped"}
	}
	return jobchain.End{Kind: jobchain.Succeeded, Output: output}
}

// random is a number in [0, 1) that replay finds again: from what names the
// dispatch, so that requests and jobs spread.
func (r *request) random(t *try) float64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s/%s/%d/%d/%d", r.id, r.firstRun, t.job, t.number, r.chain.Repeats(t.job))
	return float64(h.Sum64()>>11) / (1 << 53)
}

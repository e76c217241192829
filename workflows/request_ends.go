package workflows

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/jobchain"
)

// endOf tells what the end of a try means for its job.
func (r *request) endOf(t *try) jobchain.End {
	e := r.ownEnd(t)
	switch {
	case e.Kind != jobchain.Succeeded && t.child != nil && t.child.timedOut:
		e = jobchain.End{Kind: jobchain.Failed, Type: typeTimeout, Error: t.child.timeoutText()}
	case e.Type == typeNotRegistered && t.child == nil:
		j := r.chain.Job(t.job)
		e.Error = fmt.Sprintf("the worker that polls queue %s does not know the activity %s", r.queueOf(j), j.Activity)
	}
	e.Asked = t.asked && t.suspendable()
	e.Random = r.random(t)
	return e
}

func (r *request) ownEnd(t *try) jobchain.End {
	output, err := r.output(t)
	switch {
	case err != nil:
		return endByError(err)
	case t.child != nil && t.child.isRequest:
		return endOfRequest(output)
	default:
		return jobchain.End{Kind: jobchain.Succeeded, Output: output}
	}
}

// typeTimeout is the type that the log shows for Temporal's timeouts.
const typeTimeout = "Timeout"

// typeNotRegistered is the SDK's type for an activity that its worker does not
// have. Its text names all that the worker has, in no order.
const typeNotRegistered = "ActivityNotRegisteredError"

// notStarted is what the server puts in the place of a checkpoint when an
// activity is cancelled that no worker has begun.
const notStarted = `"ACTIVITY_ID_NOT_STARTED"`

// endByError tells one kind of failure from another by type, never by text.
func endByError(err error) jobchain.End {
	e := jobchain.End{Kind: jobchain.Failed, Error: firstLine(err.Error())}
	var timeout *temporal.TimeoutError
	var canceled *temporal.CanceledError
	var application *temporal.ApplicationError
	switch {
	case errors.As(err, &timeout):
		e.Type, e.Error = typeTimeout, timeout.TimeoutType().String()
		e.Checkpoint = detail(timeout.HasLastHeartbeatDetails(), timeout.LastHeartbeatDetails)
		if timeout.TimeoutType() == enumspb.TIMEOUT_TYPE_HEARTBEAT {
			e.Kind, e.Error = jobchain.Lost, "no heartbeat: the worker is lost"
		}
	case errors.As(err, &canceled):
		e.Type, e.Error = "Canceled", "canceled"
		if e.Checkpoint = detail(canceled.HasDetails(), canceled.Details); string(e.Checkpoint) == notStarted {
			e.Checkpoint = nil
		}
	case errors.As(err, &application):
		endByApplicationError(&e, application)
	}
	return e
}

func endByApplicationError(e *jobchain.End, application *temporal.ApplicationError) {
	e.Type, e.Error = application.Type(), firstLine(application.Message())
	switch {
	case application.Type() == activities.TypeWorkerStopping:
		e.Kind = jobchain.Interrupted
	case activities.Retryable(application.Type()):
		e.Kind, e.Delay = jobchain.Refused, application.NextRetryDelay()
	case application.NonRetryable() || neverRetried(application.Type()):
		e.Kind = jobchain.Final
	}
	if activities.Retryable(application.Type()) {
		e.Checkpoint = checkpointIn(application)
	}
}

// checkpointIn is the checkpoint of an error made by activities.Fail, which holds
// it second.
func checkpointIn(err *temporal.ApplicationError) json.RawMessage {
	return detail(err.HasDetails(), func(v ...any) error {
		var first json.RawMessage
		return err.Details(append([]any{&first}, v...)...)
	})
}

// neverRetried are the contract's types that are final whoever made the error,
// also where a job in another language forgot to say so.
func neverRetried(errType string) bool {
	switch errType {
	case activities.TypeInvalidInput, activities.TypeAmbiguous, activities.TypeConditionFailed, activities.TypeConflict,
		activities.TypeNotFound, activities.TypeAccessDenied, activities.TypeTooLarge, activities.TypeWorkerLost,
		activities.TypeExpired, activities.TypeRequestFailed:
		return true
	default:
		return false
	}
}

// detail reads a checkpoint; nil where there is none or it is not JSON.
func detail(has bool, read func(...any) error) json.RawMessage {
	var raw json.RawMessage
	if !has || read(&raw) != nil || len(raw) == 0 {
		return nil
	}
	return raw
}

// output is what the try returned, as JSON whatever the language it is written
// in: bytes become a base64 string, nothing becomes null.
func (r *request) output(t *try) (json.RawMessage, error) {
	if t.child != nil && t.child.adopted {
		return t.child.followed(r.ctx, t.future)
	}
	var value converter.RawValue
	if err := t.future.Get(r.ctx, &value); err != nil {
		return nil, err
	}
	payload := value.Payload()
	switch encoding := string(payload.GetMetadata()[converter.MetadataEncoding]); {
	case payload == nil, encoding == converter.MetadataEncodingNil:
		return json.RawMessage("null"), nil
	case strings.HasPrefix(encoding, "json/") && json.Valid(payload.GetData()):
		return json.RawMessage(payload.GetData()), nil
	case encoding == converter.MetadataEncodingBinary:
		return json.Marshal(payload.GetData())
	default:
		return nil, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("the output's encoding %q is not JSON", encoding), activities.TypeInvalidInput, nil)
	}
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

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

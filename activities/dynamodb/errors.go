package dynamodb

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/activities/dynamodb/scheduler"
	"sluice/internal/errortype"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// A failure is one request that did not succeed: what the service said, what
// that means, and what it cost.
type failure struct {
	request throughput.Request
	refusal *refusal
	verdict awscall.Verdict
	errType string
	delay   time.Duration
	repeat  bool // the same request may be sent again
	outcome scheduler.Outcome
	item    json.RawMessage
	reasons json.RawMessage
	ended   error // Temporal has ended the attempt, and nothing was sent
}

// faultBody is what error documents carry besides code and message.
type faultBody struct {
	Item                json.RawMessage
	CancellationReasons json.RawMessage
	ThrottlingReasons   []throttlingReason
}

// throttlingReason is what the service blames a throttle on, such as
// "TableWriteKeyRangeThroughputExceeded" and the ARN of a table or index.
type throttlingReason struct{ Reason, Resource string }

// ofKeyRange reports that nothing but the range of keys is blamed that a call's own
// is in: the table has capacity left.
func ofKeyRange(reasons []throttlingReason) bool {
	for _, r := range reasons {
		if !strings.Contains(r.Reason, "KeyRange") {
			return false
		}
	}
	return len(reasons) > 0
}

// failureOf decides what an error of send means for this request.
func failureOf(r throughput.Request, err error) *failure {
	f := &failure{request: r}
	if !errors.As(err, &f.refusal) {
		f.refusal = &refusal{message: err.Error()}
	}
	var body faultBody
	if len(f.refusal.body) > 0 {
		_ = json.Unmarshal(f.refusal.body, &body) // what can't be read is absent
	}
	f.verdict = awscall.Classify(f.refusal.status, f.refusal.code, f.refusal.message)
	if f.refusal.access != "" {
		f.verdict.Kind = awscall.Credentials
	}
	if f.refusal.unsent {
		f.verdict.Applied = false
	}
	throttled := 0
	switch f.verdict.Kind {
	case awscall.Throttle:
		throttled = 1
	case awscall.Cancelled:
		f.reasons = body.CancellationReasons
		f.verdict.Kind, throttled = awscall.Cancellation(reasonsOf(body, f.refusal.message))
	}
	f.item = body.Item
	f.errType, f.repeat = meaning(r, f.verdict)
	if f.refusal.access != "" {
		f.errType, f.repeat = f.refusal.access, false // it was repeated once
	}
	f.outcome = f.cost(throttled)
	f.outcome.KeyRange = throttled > 0 && ofKeyRange(body.ThrottlingReasons)
	for _, reason := range body.ThrottlingReasons {
		if _, index, ok := strings.Cut(reason.Resource, "/index/"); ok {
			f.outcome.Indexes = append(f.outcome.Indexes, index)
		}
	}
	return f
}

func reasonsOf(body faultBody, message string) (reasons []awscall.Reason) {
	if json.Unmarshal(body.CancellationReasons, &reasons) != nil || len(reasons) == 0 {
		return awscall.ReasonsIn(message)
	}
	return reasons
}

// meaning maps a verdict to our error type, and tells whether the request may be
// sent again: what was certainly not applied always, what may have
// been applied only where sending it twice is as good as once.
func meaning(r throughput.Request, v awscall.Verdict) (errType string, repeat bool) {
	switch v.Kind {
	case awscall.Throttle:
		return activities.TypeThrottled, true
	case awscall.Transient:
		if v.Applied && !r.Repeatable && r.Token == "" {
			return activities.TypeAmbiguous, false
		}
		return activities.TypeUnavailable, true
	case awscall.Credentials:
		return activities.TypeUnavailable, true
	case awscall.Condition:
		return activities.TypeConditionFailed, false
	case awscall.Conflict:
		return activities.TypeConflict, false
	case awscall.NotFound:
		return activities.TypeNotFound, false
	case awscall.Denied:
		return activities.TypeAccessDenied, false
	case awscall.TooLarge:
		return activities.TypeTooLarge, false
	default:
		return activities.TypeInvalidInput, false
	}
}

// cost is what a failed request is charged: a refusal for want of capacity or a
// false condition its estimate, since the service charges for the second and has
// nothing left for the first; so what may have been done. What the service did
// not look at costs nothing.
func (f *failure) cost(throttled int) scheduler.Outcome {
	switch {
	case throttled > 0:
		return scheduler.Outcome{Throttled: throttled}
	case f.verdict.Kind == awscall.Condition, f.verdict.Applied:
		return scheduler.Outcome{}
	default:
		return scheduler.Outcome{Unsent: true}
	}
}

// error is the error with which an attempt ends over the failure. The checkpoint
// goes along where another attempt is to follow, and only there.
func (f *failure) error(a *attempt) error {
	failure := f.describe()
	if errortype.Retryable(f.errType) {
		failure.Checkpoint = a.checkpoint()
		failure.Delay = f.delay
		if failure.Delay == 0 {
			failure.Delay = f.again(a.number)
		}
	} else if a.applied > 0 {
		failure.Message += fmt.Sprintf("; the first %d requests of the batch are applied", a.applied)
	}
	return activities.Fail(f.errType, failure)
}

// again is when another attempt is worth making. After throttles that is soon: the
// budget has them in it, and sends the call back by itself where its turn is far off.
func (f *failure) again(attempt int) time.Duration {
	if f.errType == activities.TypeThrottled {
		attempt = min(attempt, throttledAttempts)
	}
	return max(betweenAttempts.Ceiling(attempt)/2, time.Second)
}

// throttledAttempts is the attempt from which on the wait after throttles grows no
// more.
const throttledAttempts = 3

// invalid is the error for a document that is wrong before it is sent.
func invalid(r throughput.Request, err error) error {
	return activities.Fail(activities.TypeInvalidInput, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.DynamoDBPrefix + r.Name, Target: r.Target()},
		Message:      err.Error(),
	})
}

func (f *failure) describe() activities.Failure {
	message := f.refusal.Error()
	if f.errType == activities.TypeAmbiguous && !f.refusal.unsent {
		message = "no certain answer, and sent once only: " + message
	}
	if f.errType == activities.TypeNotFound {
		message = awscall.NotFoundWords(message, f.refusal.where)
	}
	return activities.Failure{
		ErrorDetails: activities.ErrorDetails{
			Code:      f.refusal.code,
			RequestID: f.refusal.requestID,
			Operation: wire.DynamoDBPrefix + f.request.Name,
			Target:    f.request.Target(),
			Item:      f.item,
			Reasons:   f.reasons,
		},
		Message: message,
	}
}

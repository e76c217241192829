package azurequeue

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"

	"sluice/activities"
)

// Failure is err of a call of an Azure queue as one of our error types. The
// SDK's own text is many lines and repeats the request's URL, so only status and
// code are told. An error that is ours already, and the context's own, pass
// through.
func Failure(operation, queue string, err error) error {
	if err == nil || activities.TypeOf(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	answer := queueErrorOf(err)
	return activities.Fail(errorType(answer.status, answer.code), activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: operation, Target: queue, Code: answer.code, RequestID: answer.requestID},
		Message:      answer.cause(),
	})
}

// errorType classifies by what is particular to queues, then by status.
func errorType(status int, code string) string {
	switch {
	case code == "ServerBusy":
		return activities.TypeThrottled
	case code == "RequestBodyTooLarge", code == "MessageTooLarge":
		return activities.TypeTooLarge
	case status == http.StatusConflict: // being deleted, or disabled: it may come back
		return activities.TypeUnavailable
	default:
		return activities.StatusType(status)
	}
}

// callFailure is an answer other than success, or none (status 0).
type callFailure struct {
	operation string
	status    int
	code      string
	requestID string
	message   string
	endpoint  string // that was asked
}

func (e *callFailure) Error() string {
	if e.operation == "" {
		return e.cause()
	}
	return e.operation + ": " + e.cause()
}

// cause is what the queue said.
func (e *callFailure) cause() string {
	switch {
	case e.status == 0:
		return e.message
	case e.code == "":
		return fmt.Sprintf("HTTP %d", e.status)
	case e.status == http.StatusNotFound && e.endpoint != "":
		return fmt.Sprintf("HTTP %d %s (endpoint %s)", e.status, e.code, e.endpoint)
	default:
		return fmt.Sprintf("HTTP %d %s", e.status, e.code)
	}
}

// Status returns the status and code of a queue's error; 0 for no answer.
func Status(err error) (status int, code string) {
	var answer *callFailure
	if errors.As(err, &answer) {
		return answer.status, answer.code
	}
	return 0, ""
}

// asFailure is an error of the SDK as ours, which says what was called.
func asFailure(operation string, err error) error {
	if err == nil {
		return nil
	}
	e := queueErrorOf(err)
	e.operation = operation
	return e
}

// queueErrorOf reads an error of the SDK, or finds our own.
func queueErrorOf(err error) *callFailure {
	var ours *callFailure
	if errors.As(err, &ours) {
		return ours
	}
	var answer *azcore.ResponseError
	if !errors.As(err, &answer) {
		return &callFailure{message: activities.Redact(rootCause(err))}
	}
	e := &callFailure{status: answer.StatusCode, code: answer.ErrorCode}
	if answer.RawResponse != nil {
		e.requestID = answer.RawResponse.Header.Get("x-ms-request-id")
		if request := answer.RawResponse.Request; request != nil && request.URL != nil {
			e.endpoint = request.URL.Scheme + "://" + request.URL.Host
		}
	}
	return e
}

// rootCause is the text of the innermost error: "connection refused" without
// the layers that quote URLs.
func rootCause(err error) string {
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

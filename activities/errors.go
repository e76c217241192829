package activities

import (
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"time"

	"sluice/internal/errortype"
	"sluice/internal/secret"

	"go.temporal.io/sdk/temporal"
)

// The types of the errors that leave Sluice (ApplicationError.Type).
const (
	TypeInvalidInput    = errortype.InvalidInput    // the document is wrong
	TypeThrottled       = errortype.Throttled       // capacity exceeded; carries the delay after which to ask again
	TypeUnavailable     = errortype.Unavailable     // transient: 5xx, timeout, connection
	TypeAmbiguous       = errortype.Ambiguous       // a write that must not be repeated may have been applied
	TypeConditionFailed = errortype.ConditionFailed // a condition or a transaction's check was false
	TypeConflict        = errortype.Conflict        // the state does not allow it, or a stale token
	TypeNotFound        = errortype.NotFound
	TypeAccessDenied    = errortype.AccessDenied
	TypeTooLarge        = errortype.TooLarge
	TypeWorkerStopping  = errortype.WorkerStopping // the worker shuts down; another goes on from the checkpoint
	TypeWorkerLost      = errortype.WorkerLost     // a job took ten workers with it in a row
	TypeExpired         = errortype.Expired        // outcome of Request: a suspension outlived its TTL
	TypeRequestFailed   = errortype.RequestFailed  // outcome of Request: FAIL
)

// ErrorDetails is the first detail of every error made by Fail.
type ErrorDetails struct {
	Code      string          `json:"code"`      // the service's own error code
	RequestID string          `json:"requestId"` // the service's, for its support
	Operation string          `json:"operation"`
	Target    string          `json:"target"`            // table, stream, bucket, queue or origin
	Item      json.RawMessage `json:"item,omitempty"`    // ConditionFailed: the item, where it was asked for
	Reasons   json.RawMessage `json:"reasons,omitempty"` // ConditionFailed: a transaction's, by position
	Output    json.RawMessage `json:"output,omitempty"`  // what was achieved all the same
}

// A Failure says what went wrong with what.
type Failure struct {
	ErrorDetails
	Message    string        // the cause, in words
	Delay      time.Duration // Throttled, Unavailable, WorkerStopping: when to ask again; 0 leaves it to the policy
	Checkpoint any           // what the attempt achieved, for the next one; the second detail
}

// Fail makes an application error of one of the types above. Its message is one
// line, "operation target: cause", without secrets; there is no wrapped cause,
// since causes of other libraries carry URLs and signatures.
func Fail(errType string, f Failure) error {
	message := strings.TrimSpace(f.Operation + " " + f.Target)
	if message != "" && f.Message != "" {
		message += ": "
	}
	message = Redact(message + f.Message)
	details := []any{f.ErrorDetails}
	if f.Checkpoint != nil {
		details = append(details, f.Checkpoint)
	}
	options := temporal.ApplicationErrorOptions{NonRetryable: !errortype.Retryable(errType), Details: details}
	if !options.NonRetryable {
		options.NextRetryDelay = f.Delay
	}
	if errType == TypeWorkerStopping && f.Delay == 0 {
		options.NextRetryDelay = time.Millisecond // another worker goes on at once
	}
	if errType == TypeThrottled || errType == TypeWorkerStopping {
		options.Category = temporal.ApplicationErrorCategoryBenign
	}
	return temporal.NewApplicationErrorWithOptions(message, errType, options)
}

// Invalid is the InvalidInput error for a document whose faults err tells.
func Invalid(operation string, err error) error {
	return Fail(TypeInvalidInput, Failure{ErrorDetails: ErrorDetails{Operation: operation}, Message: err.Error()})
}

// TypeOf returns the type of the application error in err's chain, or "".
func TypeOf(err error) string {
	var application *temporal.ApplicationError
	if errors.As(err, &application) {
		return application.Type()
	}
	return ""
}

// DetailsOf returns the ErrorDetails of the application error in err's chain.
func DetailsOf(err error) (details ErrorDetails, ok bool) {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || !application.HasDetails() {
		return details, false
	}
	return details, application.Details(&details) == nil
}

// secrets are the forms in which credentials appear in URLs, headers and
// connection strings: SAS and AWS query signatures, account keys, Authorization
// headers of any scheme, user info.
var secrets = regexp.MustCompile(`(?i)((?:[?&;]|\b)(?:sig|signature|x-amz-signature|x-amz-credential|x-amz-security-token|accountkey|sharedaccesssignature)=)[^&;,\s"']+` +
	`|(\bauthorization\\?["']?\s*[:=]\s*\\?["']?(?:[a-z][a-z0-9-]* +)?|\b(?:bearer|sharedkey) |\b(?-i:Basic|BASIC|basic) )[^\s"',\\]+|(://)[^/\s@"']+(@)`)

// Redact replaces credentials in text that may hold a URL, a header or a
// connection string, and whatever secret the program knows.
func Redact(text string) string {
	return secrets.ReplaceAllString(strings.Join(strings.Fields(secret.Conceal(text)), " "), "${1}${2}${3}"+secret.Redacted+"${4}")
}

// Final is err as one that is not repeated, with its type, words and details. A
// workflow that ends since an activity failed ends with it, so that the type is
// told at the top. An error without a type of ours stays as it is.
func Final(err error) error {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) {
		return err
	}
	details, _ := DetailsOf(err)
	return temporal.NewApplicationErrorWithOptions(application.Message(), application.Type(),
		temporal.ApplicationErrorOptions{NonRetryable: true, Details: []any{details}})
}

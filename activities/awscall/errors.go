package awscall

import (
	"context"
	"errors"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"sluice/activities"
)

// An Answer is what an error of an AWS call tells of the service's answer.
type Answer struct {
	Status    int // HTTP; 0 when none came
	Code      string
	RequestID string
	Message   string // the service's, else the error's own
	// Access is the type of a call refused for its credentials or its clock, else "".
	Access string
	where  string // it was asked
}

// AnswerOf reads an error.
func AnswerOf(err error) (a Answer) {
	a.Message = err.Error()
	var api smithy.APIError
	if errors.As(err, &api) {
		a.Code, a.Message = api.ErrorCode(), api.ErrorMessage()
	}
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		a.RequestID, a.Status = response.ServiceRequestID(), response.HTTPStatusCode()
	}
	a.where = whereOf(err)
	if refusal := RefusalOf(err); refusal != nil {
		a.Access = refusal.Type
	}
	return a
}

// Type is the type of our errors that the answer means.
func (a Answer) Type() string {
	if a.Access != "" {
		return a.Access
	}
	return types[Classify(a.Status, a.Code, a.Message).Kind]
}

// Said is the service's message; of what it has not, with where it was asked.
func (a Answer) Said() string {
	if a.Type() != activities.TypeNotFound {
		return a.Message
	}
	return NotFoundWords(a.Message, a.where)
}

// Failure is err of an AWS call as one of our error types, for calls that may all be
// repeated (S3, SQS, describing calls). An error that is ours already, and the
// context's own, pass through.
func Failure(operation, target string, err error) error {
	if err == nil || activities.TypeOf(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	a := AnswerOf(err)
	return activities.Fail(a.Type(), activities.Failure{
		ErrorDetails: activities.ErrorDetails{Code: a.Code, RequestID: a.RequestID, Operation: operation, Target: target},
		Message:      Words(a.Code, a.Said()),
	})
}

// Words are what a service said, its code and message, either of which may be missing.
func Words(code, message string) string {
	if code == "" || message == "" {
		return code + message
	}
	return code + ": " + message
}

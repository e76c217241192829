package awscall

import (
	"context"
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"sluice/activities"
)

// Failure is err of an AWS call as one of our error types, for the services
// whose calls may all be repeated (S3, SQS, describing calls). DynamoDB and
// Kinesis data calls have tables of their own. An error that is ours already,
// and the context's own, pass through.
func Failure(operation, target string, err error) error {
	if err == nil || activities.TypeOf(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	details := activities.ErrorDetails{Operation: operation, Target: target}
	message := err.Error()
	var api smithy.APIError
	if errors.As(err, &api) {
		details.Code = api.ErrorCode()
		message = strings.TrimSuffix(api.ErrorCode()+": "+api.ErrorMessage(), ": ")
	}
	var response *awshttp.ResponseError
	status := 0
	if errors.As(err, &response) {
		details.RequestID = response.ServiceRequestID()
		status = response.HTTPStatusCode()
	}
	return activities.Fail(errorType(details.Code, status, err), activities.Failure{ErrorDetails: details, Message: message})
}

// errorType classifies by the last part of the code, then by HTTP status; what
// has neither was lost on the way, or could not be sent.
func errorType(code string, status int, err error) string {
	code = code[strings.LastIndexAny(code, "#.")+1:]
	switch code {
	case "NoSuchKey", "NoSuchBucket", "NotFound", "ResourceNotFoundException", "QueueDoesNotExist", "NonExistentQueue", "NoSuchVersion":
		return activities.TypeNotFound
	case "AccessDenied", "AccessDeniedException", "Forbidden", "InvalidAccessKeyId", "SignatureDoesNotMatch",
		"UnrecognizedClientException", "InvalidClientTokenId", "MissingAuthenticationToken":
		return activities.TypeAccessDenied
	case "SlowDown", "Throttling", "ThrottlingException", "ThrottledException", "RequestThrottled", "TooManyRequestsException",
		"LimitExceededException", "RequestLimitExceeded", "ProvisionedThroughputExceededException", "BandwidthLimitExceeded":
		return activities.TypeThrottled
	case "PreconditionFailed", "InvalidObjectState":
		return activities.TypeConflict
	case "EntityTooLarge":
		return activities.TypeTooLarge
	}
	var region *aws.MissingRegionError
	if errors.As(err, &region) {
		return activities.TypeInvalidInput
	}
	return activities.StatusType(status)
}

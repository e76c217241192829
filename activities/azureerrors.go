package activities

import (
	"context"
	"errors"
	"net/http"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
)

// azureFailure is err of an Azure queue call as one of our error types. The
// SDK's own text repeats the request's URL, so only code and status are told.
func azureFailure(operation, target string, err error) error {
	if err == nil || TypeOf(err) != "" || errors.Is(err, context.Canceled) {
		return err
	}
	details := ErrorDetails{Operation: operation, Target: target}
	var response *azcore.ResponseError
	if !errors.As(err, &response) {
		return Fail(TypeUnavailable, Failure{ErrorDetails: details, Message: err.Error()})
	}
	details.Code = response.ErrorCode
	if response.RawResponse != nil {
		details.RequestID = response.RawResponse.Header.Get("x-ms-request-id")
	}
	message := http.StatusText(response.StatusCode)
	if response.ErrorCode != "" {
		message = response.ErrorCode
	}
	return Fail(azureErrorType(response.StatusCode), Failure{ErrorDetails: details, Message: message})
}

func azureErrorType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return TypeThrottled
	case status == http.StatusRequestTimeout, status >= 500:
		return TypeUnavailable
	case status == http.StatusNotFound:
		return TypeNotFound
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return TypeAccessDenied
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return TypeConflict
	case status == http.StatusRequestEntityTooLarge:
		return TypeTooLarge
	default:
		return TypeInvalidInput
	}
}

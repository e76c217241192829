package activities

import "net/http"

// StatusType is the error type that an HTTP status stands for, by itself. A
// service whose statuses or codes mean something else puts its exceptions in
// front (awscall.Classify, azurequeue.errorType, the verdicts of HTTP). 0 is no answer at all.
func StatusType(status int) string {
	switch {
	case status == http.StatusTooManyRequests:
		return TypeThrottled
	case status == 0, status >= 500, status == http.StatusRequestTimeout, status == http.StatusTooEarly:
		return TypeUnavailable
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return TypeAccessDenied
	case status == http.StatusNotFound, status == http.StatusGone:
		return TypeNotFound
	case status == http.StatusConflict, status == http.StatusPreconditionFailed:
		return TypeConflict
	case status == http.StatusRequestEntityTooLarge:
		return TypeTooLarge
	default:
		return TypeInvalidInput
	}
}

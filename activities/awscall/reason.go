package awscall

import (
	"errors"
	"net/http"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
)

// A reason is why a service did not look at a call.
type reason int

const (
	none    reason = iota
	expired        // the credentials were good
	unknown        // the service doesn't know them, or not yet
	clock          // signed at a time that is not the service's
)

// mostSkew is by how much a signature's time may differ from the service's.
const mostSkew = 4 * time.Minute

// reasonOf reads it from the service's code. A wrong signature is one of a wrong
// secret, unless the answer's time tells that it was the clock.
func reasonOf(err error) reason {
	var api smithy.APIError
	if err == nil || !errors.As(err, &api) {
		return none
	}
	switch CodeName(api.ErrorCode()) {
	case "ExpiredToken", "RequestExpired", "TokenRefreshRequired":
		return expired
	case "UnrecognizedClient", "InvalidClientTokenId", "InvalidAccessKeyId", "InvalidToken":
		return unknown
	case "RequestTimeTooSkewed", "RequestInTheFuture":
		return clock
	case "InvalidSignature", "SignatureDoesNotMatch", "AuthFailure":
		message := api.ErrorMessage()
		if skewed(err) || strings.Contains(message, "Signature expired") || strings.Contains(message, "Signature not yet current") {
			return clock
		}
	}
	return none
}

// skewed compares the time of the answer with that of the request's signature, both
// as they were on the wire.
func skewed(err error) bool {
	var response *awshttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil || response.Response.Request == nil {
		return false
	}
	answered, err := http.ParseTime(response.Response.Header.Get("Date"))
	if err != nil {
		return false
	}
	signed, err := time.Parse("20060102T150405Z", response.Response.Request.Header.Get("X-Amz-Date"))
	return err == nil && answered.Sub(signed).Abs() > mostSkew
}

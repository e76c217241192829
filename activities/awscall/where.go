package awscall

import (
	"errors"
	"net/http"
	"strings"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// Where is where a request was sent: the region that it is signed for, and the
// endpoint. What is not found is most often looked for in the wrong one.
func Where(request *http.Request) string {
	if request == nil || request.URL == nil || request.URL.Host == "" {
		return ""
	}
	endpoint := request.URL.Scheme + "://" + request.URL.Host
	if region := signedRegion(request.Header.Get("Authorization")); region != "" {
		return "region " + region + ", endpoint " + endpoint
	}
	return "endpoint " + endpoint
}

// NotFoundWords are what a service said, and where it was asked.
func NotFoundWords(said, where string) string {
	if where == "" {
		return said
	}
	return said + " (" + where + ")"
}

// signedRegion reads the region from a signature's scope,
// "Credential=<key>/<date>/<region>/<service>/aws4_request".
func signedRegion(authorization string) string {
	_, scope, ok := strings.Cut(authorization, "Credential=")
	if !ok {
		return ""
	}
	scope, _, _ = strings.Cut(scope, ",")
	parts := strings.Split(scope, "/")
	if len(parts) < 5 {
		return ""
	}
	return parts[len(parts)-3]
}

// whereOf is where the call of an error was sent, "" where none was.
func whereOf(err error) string {
	var response *awshttp.ResponseError
	if !errors.As(err, &response) || response.Response == nil || response.Response.Response == nil {
		return ""
	}
	return Where(response.Response.Request)
}

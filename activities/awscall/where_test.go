package awscall

import (
	"net/http"
	"testing"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/stretchr/testify/require"
)

func TestWhatIsNotFoundSaysWhereItWasLookedFor(t *testing.T) {
	request, err := http.NewRequest(http.MethodPost, "https://kinesis.eu-west-1.amazonaws.com/secret?token=x", nil)
	require.NoError(t, err)
	refused := func(code string) error {
		return &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{
			Response: &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusBadRequest, Request: request}},
			Err:      &smithy.GenericAPIError{Code: code, Message: "Stream s not found"}}}
	}
	require.ErrorContains(t, Failure("Kinesis.PutRecords", "s", refused("ResourceNotFoundException")),
		"Kinesis.PutRecords s: ResourceNotFoundException: Stream s not found (endpoint https://kinesis.eu-west-1.amazonaws.com) (type: NotFound")
	request.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=AKIA/20261201/eu-west-1/kinesis/aws4_request, SignedHeaders=host, Signature=0123")
	failure := Failure("Kinesis.PutRecords", "s", refused("ResourceNotFoundException"))
	require.ErrorContains(t, failure, "(region eu-west-1, endpoint https://kinesis.eu-west-1.amazonaws.com)")
	for _, secret := range []string{"AKIA", "0123", "token"} {
		require.NotContains(t, failure.Error(), secret)
	}
	require.NotContains(t, Failure("Kinesis.PutRecords", "s", refused("ValidationException")).Error(), "region", "it is not about the place")
	require.Empty(t, Where(nil))
	request.Header.Set("Authorization", "Bearer Credential=x")
	require.Equal(t, "endpoint https://kinesis.eu-west-1.amazonaws.com", Where(request))
}

package activities

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
)

func TestFailSaysOperationTargetAndCause(t *testing.T) {
	err := Fail(TypeThrottled, Failure{
		ErrorDetails: ErrorDetails{Code: "ProvisionedThroughputExceededException", RequestID: "r1", Operation: "DynamoDB.PutItem", Target: "orders"},
		Message:      "slow\n down",
		Delay:        3 * time.Second,
		Checkpoint:   map[string]int{"at": 7},
	})
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, "DynamoDB.PutItem orders: slow down", application.Message())
	require.Equal(t, TypeThrottled, application.Type())
	require.False(t, application.NonRetryable())
	require.Equal(t, 3*time.Second, application.NextRetryDelay())
	var details ErrorDetails
	var checkpoint map[string]int
	require.NoError(t, application.Details(&details, &checkpoint))
	require.Equal(t, "r1", details.RequestID)
	require.Equal(t, 7, checkpoint["at"])
}

func TestFailRetriesByType(t *testing.T) {
	for errType, retried := range map[string]bool{
		TypeInvalidInput: false, TypeThrottled: true, TypeUnavailable: true, TypeAmbiguous: false, TypeConditionFailed: false,
		TypeConflict: false, TypeNotFound: false, TypeAccessDenied: false, TypeTooLarge: false, TypeWorkerStopping: true,
		TypeWorkerLost: false, TypeExpired: false, TypeRequestFailed: false,
	} {
		var application *temporal.ApplicationError
		require.ErrorAs(t, Fail(errType, Failure{}), &application)
		require.Equal(t, retried, !application.NonRetryable(), errType)
	}
}

func TestTypeOfLooksThroughWrapping(t *testing.T) {
	err := fmt.Errorf("outer: %w", Fail(TypeNotFound, Failure{ErrorDetails: ErrorDetails{Target: "q"}}))
	require.Equal(t, TypeNotFound, TypeOf(err))
	details, ok := DetailsOf(err)
	require.True(t, ok)
	require.Equal(t, "q", details.Target)
	require.Empty(t, TypeOf(errors.New("plain")))
}

func TestRedact(t *testing.T) {
	for text, secret := range map[string]string{
		"GET https://a.queue.core.windows.net/q/messages?sv=1&sig=abc%2Bdef%3D&se=2": "abc%2Bdef",
		"AccountName=a;AccountKey=Zm9v/YmFy==;EndpointSuffix=x":                      "Zm9v",
		"Authorization: Bearer ey.J.x rest":                                          "ey.J.x",
		"Authorization: SharedKey account:c2ln":                                      "c2ln",
		"https://b.s3.amazonaws.com/k?X-Amz-Credential=AK/2026&X-Amz-Signature=beef": "beef",
		"dial http://user:pass@host/path":                                            "pass",
	} {
		got := Redact(text)
		require.NotContains(t, got, secret)
		require.Contains(t, got, "[redacted]")
	}
	require.Equal(t, "PutItem orders: signal the design, bearers of news", Redact("PutItem orders: signal the design, bearers of news"))
}

func TestFinalKeepsTypeAndWords(t *testing.T) {
	err := Final(Fail(TypeUnavailable, Failure{ErrorDetails: ErrorDetails{Operation: "S3.HeadBucket", Target: "b"}, Message: "refused"}))
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.True(t, application.NonRetryable())
	require.Equal(t, TypeUnavailable, application.Type())
	require.Equal(t, "S3.HeadBucket b: refused", application.Message())
}

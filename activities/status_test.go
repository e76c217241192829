package activities

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/stretchr/testify/require"
)

// One table of statuses for all services, and beside it what each makes of its
// own.
func TestErrorTypesByStatus(t *testing.T) {
	for _, c := range []struct {
		status                    int
		base, aws, azure, trigger string
	}{
		{0, TypeUnavailable, TypeUnavailable, TypeUnavailable, TypeUnavailable},
		{302, TypeInvalidInput, TypeInvalidInput, TypeInvalidInput, TypeUnavailable},
		{400, TypeInvalidInput, TypeInvalidInput, TypeInvalidInput, TypeInvalidInput},
		{401, TypeAccessDenied, TypeAccessDenied, TypeAccessDenied, TypeAccessDenied},
		{403, TypeAccessDenied, TypeAccessDenied, TypeAccessDenied, TypeAccessDenied},
		{404, TypeNotFound, TypeNotFound, TypeNotFound, TypeNotFound},
		{408, TypeUnavailable, TypeUnavailable, TypeUnavailable, TypeUnavailable},
		{409, TypeConflict, TypeConflict, TypeUnavailable, TypeConflict},
		{410, TypeNotFound, TypeNotFound, TypeNotFound, TypeNotFound},
		{412, TypeConflict, TypeConflict, TypeConflict, TypeConflict},
		{413, TypeTooLarge, TypeTooLarge, TypeTooLarge, TypeTooLarge},
		{422, TypeInvalidInput, TypeInvalidInput, TypeInvalidInput, TypeInvalidInput},
		{425, TypeUnavailable, TypeUnavailable, TypeUnavailable, TypeUnavailable},
		{429, TypeThrottled, TypeThrottled, TypeThrottled, TypeThrottled},
		{500, TypeUnavailable, TypeUnavailable, TypeUnavailable, TypeUnavailable},
		{503, TypeUnavailable, TypeUnavailable, TypeUnavailable, TypeUnavailable},
	} {
		require.Equal(t, c.base, statusType(c.status), "%d", c.status)
		require.Equal(t, c.aws, awsErrorType("", c.status, nil), "aws %d", c.status)
		require.Equal(t, c.azure, azureErrorType(c.status, ""), "azure %d", c.status)
		require.Equal(t, c.trigger, acceptedOnly(c.status), "trigger %d", c.status)
	}
	require.Equal(t, TypeThrottled, awsErrorType("SlowDown", 503, nil))
	require.Equal(t, TypeThrottled, azureErrorType(503, "ServerBusy"))
	require.Equal(t, TypeTooLarge, azureErrorType(400, "MessageTooLarge"))
}

// An error of a queue is told in one line, with the operation once and without
// the URL, which may be signed.
func TestAzureFailureIsOneLine(t *testing.T) {
	response := &http.Response{StatusCode: 404, Header: http.Header{"X-Ms-Request-Id": {"r-1"}}}
	sdk := &azcore.ResponseError{StatusCode: 404, ErrorCode: "QueueNotFound", RawResponse: response}
	for _, err := range []error{sdk, callError(AzureQueueSend, sdk)} {
		failure := AzureFailure(AzureQueueSend, "tasks", err)
		require.ErrorContains(t, failure, "AzureQueue.Send tasks: HTTP 404 QueueNotFound (type: NotFound")
		details, ok := DetailsOf(failure)
		require.True(t, ok)
		require.Equal(t, ErrorDetails{Code: "QueueNotFound", RequestID: "r-1", Operation: AzureQueueSend, Target: "tasks"}, details)
	}
	require.EqualError(t, callError(opReceive, sdk), "AzureQueue.Receive: HTTP 404 QueueNotFound")
	require.NoError(t, callError(opReceive, nil))
	require.NoError(t, AzureFailure(AzureQueueSend, "tasks", nil))
	require.ErrorIs(t, AzureFailure(AzureQueueSend, "tasks", context.Canceled), context.Canceled)
	lost := AzureFailure(AzureQueueSend, "tasks", errors.New("dial tcp: connection refused"))
	require.Equal(t, TypeUnavailable, TypeOf(lost))
	require.Equal(t, lost, AzureFailure("other", "other", lost), "what is ours already stays")
}

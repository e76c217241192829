package activities

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/stretchr/testify/require"
)

// A queue that is being deleted may come back; all else is judged as everywhere.
func TestQueueErrorTypes(t *testing.T) {
	require.Equal(t, TypeUnavailable, azureErrorType(409, ""))
	for _, status := range []int{0, 302, 400, 401, 403, 404, 408, 410, 412, 413, 422, 425, 429, 500, 503} {
		require.Equal(t, statusType(status), azureErrorType(status, ""), "%d", status)
	}
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

package azurequeue

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/internal/wire"
)

// A queue that is being deleted may come back; all else is judged as everywhere.
func TestQueueErrorTypes(t *testing.T) {
	require.Equal(t, activities.TypeUnavailable, errorType(409, ""))
	for _, status := range []int{0, 302, 400, 401, 403, 404, 408, 410, 412, 413, 422, 425, 429, 500, 503} {
		require.Equal(t, activities.StatusType(status), errorType(status, ""), "%d", status)
	}
	require.Equal(t, activities.TypeThrottled, errorType(503, "ServerBusy"))
	require.Equal(t, activities.TypeTooLarge, errorType(400, "MessageTooLarge"))
}

// An error of a queue is told in one line, with the operation once and without
// the URL, which may be signed.
func TestAzureFailureIsOneLine(t *testing.T) {
	response := &http.Response{StatusCode: http.StatusNotFound, Header: http.Header{"X-Ms-Request-Id": {"r-1"}}}
	sdk := &azcore.ResponseError{StatusCode: 404, ErrorCode: "QueueNotFound", RawResponse: response}
	for _, err := range []error{sdk, asFailure(wire.AzureQueueSend, sdk)} {
		failure := Failure(wire.AzureQueueSend, "tasks", err)
		require.ErrorContains(t, failure, "AzureQueue.Send tasks: HTTP 404 QueueNotFound (type: NotFound")
		details, ok := activities.DetailsOf(failure)
		require.True(t, ok)
		require.Equal(t, activities.ErrorDetails{Code: "QueueNotFound", RequestID: "r-1", Operation: wire.AzureQueueSend, Target: "tasks"}, details)
	}
	require.EqualError(t, asFailure(opReceive, sdk), "AzureQueue.Receive: HTTP 404 QueueNotFound")
	require.NoError(t, asFailure(opReceive, nil))
	require.NoError(t, Failure(wire.AzureQueueSend, "tasks", nil))
	require.ErrorIs(t, Failure(wire.AzureQueueSend, "tasks", context.Canceled), context.Canceled)
	lost := Failure(wire.AzureQueueSend, "tasks", errors.New("dial tcp: connection refused"))
	require.Equal(t, activities.TypeUnavailable, activities.TypeOf(lost))
	require.Equal(t, lost, Failure("other", "other", lost), "what is ours already stays")
}

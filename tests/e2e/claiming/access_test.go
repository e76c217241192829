package claiming_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// A worker without Azure settings took the polling, and could do nothing, while one
// that has them stood by; and nothing said so.
func TestQueuesArePolledOnlyByWorkersWithAzureSettings(t *testing.T) {
	b := newBench(t)
	without := b.StartWorker("AZURE_STORAGE_CONNECTION_STRING=", "AZURE_STORAGE_QUEUE_URL=")
	azure := b.TaskQueue + "-azure"

	send := func(taskQueue string) error {
		run, err := b.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{TaskQueue: b.TaskQueue}, "Request",
			map[string]any{"jobs": []any{map[string]any{"id": "send", "activity": "AzureQueue.Send", "taskQueue": taskQueue,
				"input": map[string]any{"queue": b.queue,
					"body": map[string]any{"taskId": b.queue + "-1", "payload": nap{}}}}}})
		require.NoError(t, err)
		return run.Get(t.Context(), nil)
	}
	err := send("")
	require.ErrorContains(t, err, "AccessDenied")
	require.ErrorContains(t, err, "no access to Azure queues")
	require.ErrorContains(t, err, azure)

	b.claim(nil)
	s := b.awaitStatus("it says who has to poll", func(s status) bool { return len(s.Queues) == 1 })
	require.Equal(t, b.queue, s.Queues[0].Name)
	require.Contains(t, s.Queues[0].LastError, azure)
	described, err := b.Client.DescribeWorkflow(t.Context(), b.id, "")
	require.NoError(t, err)
	pending := described.RawResponse.GetPendingActivities()
	require.Len(t, pending, 1)
	require.Zero(t, pending[0].GetLastStartedTime().AsTime().Unix(), "a worker without Azure settings polls")

	b.StartWorker()
	require.NoError(t, send(azure))
	require.Equal(t, "COMPLETED", b.awaitTask(b.queue+"-1", 0).State)
	b.awaitStatus("the queue is polled", func(s status) bool {
		return s.Finished == 1 && len(s.Queues) == 1 && s.Queues[0].LastError == ""
	})
	described, err = b.Client.DescribeWorkflow(t.Context(), "task/"+b.queue+"-1/0", "")
	require.NoError(t, err)
	require.Equal(t, b.TaskQueue, described.RawResponse.GetExecutionConfig().GetTaskQueue().GetName(), "tasks are for every worker")
	require.NotContains(t, without.Logs(), "claimer cannot")
}

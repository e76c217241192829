package claiming_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"sluice/tests/harness"
)

// A task whose request has one job is billed for its start, its child, two ends, the
// job and the word to its claimer, and for no state that it only passes through.
func TestClaimedTaskOfOneJobCostsEightActions(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	const tasks = 12
	for i := range tasks {
		b.put(b.queue, message(fmt.Sprintf("%s-%d", b.queue, i), 0, map[string]any{
			"type": "one-" + b.queue, "jobs": []any{map[string]string{"id": "only", "activity": "Rest", "taskQueue": b.naps}}}))
	}
	b.claim(map[string]any{"capacity": tasks, "run": map[string]string{"workflow": "Request"}})
	b.awaitStatus("all finished", func(s status) bool { return s.Finished == tasks && s.Running == 0 })
	for i := range tasks {
		id := fmt.Sprintf("task/%s-%d/0", b.queue, i)
		task, work := b.eventsOf(id), b.eventsOf(id+"/run")
		require.Equal(t, 1, task[enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED])
		require.Equal(t, 1, task[enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES], "its end")
		require.Equal(t, 1, task[enumspb.EVENT_TYPE_MARKER_RECORDED], "the word to its claimer")
		require.Equal(t, 1, work[enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES], "its end")
		require.Equal(t, 1, work[enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED])
		require.Zero(t, task[enumspb.EVENT_TYPE_TIMER_STARTED]+work[enumspb.EVENT_TYPE_TIMER_STARTED])
		require.LessOrEqual(t, task[enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED], 3)
		require.LessOrEqual(t, work[enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED], 2)
	}
	signals := b.eventsOf(b.id)[enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED]
	require.LessOrEqual(t, signals, tasks)
	t.Logf("%d signals told of %d ends", signals, tasks)
	b.awaitListed(fmt.Sprintf("WorkflowType = 'Request' AND SluiceType = 'one-%s' AND SluiceState = 'COMPLETE'", b.queue), tasks)
	b.awaitListed(fmt.Sprintf("WorkflowType = 'Task' AND SluiceTarget = '%s' AND SluiceState = 'COMPLETED'", b.queue), tasks)
}

// A payload that the request refuses leaves no request behind that seems to run.
func TestRefusedWorkOfATaskDoesNotSeemToRun(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	b.put(b.queue, message(b.queue, 0, map[string]any{"type": "bad-" + b.queue, "jobs": "none"}))
	b.claim(map[string]any{"run": map[string]string{"workflow": "Request"}})
	b.awaitStatus("finished", func(s status) bool { return s.Failed == 1 })
	require.Equal(t, "malformed-payload", b.awaitTask(b.queue, 0).Reason)
	b.awaitListed(fmt.Sprintf("WorkflowId = 'task/%s/0/run' AND SluiceType = 'bad-%s' AND SluiceState = 'FAIL'", b.queue, b.queue), 1)
}

// eventsOf counts the events of a history by type.
func (b *bench) eventsOf(id string) map[enumspb.EventType]int {
	b.t.Helper()
	n := map[enumspb.EventType]int{}
	history := b.Client.GetWorkflowHistory(b.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(b.t, err)
		n[event.GetEventType()]++
	}
	return n
}

// awaitListed waits until that many workflows are listed by a query.
func (b *bench) awaitListed(query string, n int64) {
	b.t.Helper()
	harness.Await(b.t, query, func(ctx context.Context) error {
		counted, err := b.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err == nil && counted.GetCount() != n {
			err = fmt.Errorf("%d, not %d", counted.GetCount(), n)
		}
		return err
	})
}

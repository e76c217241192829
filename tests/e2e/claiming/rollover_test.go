package claiming_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"

	"sluice/tests/harness"
)

// A claimer whose history is full goes on in a new run with its books, its
// running tasks and its capacity. The server is told to call 60 events full.
func TestClaimerContinuesAsNew(t *testing.T) {
	b := newBenchOn(t, harness.Options{Own: true, Args: []string{"--dynamic", "limit.historyCount.suggestContinueAsNew=60"}})
	b.StartWorker()
	b.put(b.queue, message(b.queue+"-long", 0, nap{Sleep: "20s"}))
	for i := range 40 {
		b.put(b.queue, message(fmt.Sprintf("%s-%d", b.queue, i), 0, nap{Sleep: "1s"}))
	}
	run := b.claim(map[string]any{"capacity": 5})
	var runs []string
	harness.Await(t, "more than one run", func(ctx context.Context) error {
		listed, err := b.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
			Query: fmt.Sprintf("WorkflowId = '%s' AND ExecutionStatus = 'ContinuedAsNew'", b.id)})
		if err != nil {
			return err
		}
		if len(listed.GetExecutions()) == 0 {
			return fmt.Errorf("one run")
		}
		runs = []string{listed.GetExecutions()[0].GetExecution().GetRunId()}
		return nil
	})
	b.awaitStatus("all ran", func(s status) bool { return s.Finished == 41 && s.Running == 0 && s.Claimed == 41 })
	_, err := b.update("drain", `{"wait":"30s"}`)
	require.NoError(t, err)
	var result status
	require.NoError(t, run.Get(t.Context(), &result))
	require.EqualValues(t, 41, result.Claimed)
	require.Zero(t, result.Failed)
	b.Record(b.id, "ClaimTasks", "continued-as-new", runs...)
}

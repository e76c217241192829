package ingest_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
	"sluice/workflows"
)

func (f *fixture) isRunning(id string) bool {
	described, err := f.Client.DescribeWorkflow(f.t.Context(), id, "")
	require.NoError(f.t, err)
	return described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// TestIngestLeavesAClaimerOfSomebodyElseAlone: one of the name that its own would
// have is a conflict, and goes on.
func TestIngestLeavesAClaimerOfSomebodyElseAlone(t *testing.T) {
	f := newFixture(t, 1, 1)
	f.StartWorker()
	id := f.Name("nightly")
	queue := f.Name("others")
	f.NewAzureQueue(queue)
	theirs := workflows.ClaimID(id)
	_, err := f.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: theirs, TaskQueue: f.TaskQueue},
		workflows.TypeClaimTasks, map[string]any{"queues": []map[string]string{{"name": queue}}})
	require.NoError(t, err)
	r := f.StarterWith(f.document(nil), "ingest", "run", "--id", id, "-f", "-", "--wait").Exits(t, 1)
	require.Contains(t, r.Stderr, "Conflict")
	require.Contains(t, r.Stderr, theirs)
	require.True(t, f.isRunning(theirs), "it was stopped")
	f.Record(id, workflows.TypeIngest, "claimer-of-somebody-else")
	require.NoError(t, f.Client.TerminateWorkflow(t.Context(), theirs, "", "the test is over"))
}

// TestTheCounterEndsWithTheLastIngestion: of two that share it, whoever started it.
func TestTheCounterEndsWithTheLastIngestion(t *testing.T) {
	f := newFixture(t, 1, 5)
	f.StartWorker()
	count := workflows.CountID(f.Env("SLUICE_DEMO_NOTIFICATIONS"))
	first, second := f.Name("first"), f.Name("second")
	f.StarterWith(f.document(nil), "ingest", "run", "--id", first, "-f", "-").OK(t)
	f.awaitPhase(first, "STREAM")
	f.StarterWith(f.document(map[string]any{"quiet": map[string]any{"repeats": 100, "delay": map[string]any{"base": "10s"}}}),
		"ingest", "run", "--id", second, "-f", "-").OK(t)
	f.awaitPhase(second, "STREAM")
	require.NoError(t, f.Client.GetWorkflow(t.Context(), first, "").Get(t.Context(), nil))
	require.True(t, f.isRunning(count), "the first took it away from the second")
	require.NoError(t, f.Client.CancelWorkflow(t.Context(), second, ""))
	harness.Await(t, "the counter has ended", func(context.Context) error {
		if f.isRunning(count) {
			return fmt.Errorf("it is running")
		}
		return nil
	})
	f.Record(count, workflows.TypeCountObjects, "shared-by-two-ingestions")
}

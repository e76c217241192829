package dynamodb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/internal/throughput"
	"sluice/tests/harness"
	"sluice/workflows"
	throughputworkflow "sluice/workflows/throughput"
)

// tell sends an update to the owner of a budget.
func tell(t *testing.T, s *harness.Stack, table, direction, name, input string, answer any) {
	t.Helper()
	handle, err := s.Client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: "throughput/" + budget(s, table, direction), UpdateName: name, Args: []any{json.RawMessage(input)},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	require.NoError(t, err)
	require.NoError(t, handle.Get(t.Context(), answer))
}

// runOf is the ID of the owner's present run, and whether it goes on.
func runOf(ctx context.Context, s *harness.Stack, table, direction string) (runID string, running bool, err error) {
	described, err := s.Client.DescribeWorkflow(ctx, "throughput/"+budget(s, table, direction), "")
	if err != nil {
		return "", false, err
	}
	info := described.RawResponse.GetWorkflowExecutionInfo()
	return info.GetExecution().GetRunId(), info.GetStatus().String() == "Running", nil
}

func TestAnOwnerContinuesAsNewWithAllItKnows(t *testing.T) {
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 50, Write: 50})
	s.StartWorker()
	outputs(t, caller(t, s)("PutItem", 0, puts(name, 1, "")...))
	first, _, err := runOf(t.Context(), s, name, "write")
	require.NoError(t, err)
	tell(t, s, name, "write", "set", `{"utilization":0.5}`, nil)
	tell(t, s, name, "write", "pause", `{"reason":"maintenance","for":"1h"}`, nil)
	before, err := status(t.Context(), s, name, "write")
	require.NoError(t, err)
	second := first
	for n := 0; second == first; n++ {
		require.Less(t, n, 500)
		var lease throughput.Lease
		tell(t, s, name, "write", "lease", fmt.Sprintf(`{"worker":"w%d","demand":{"3":5},"throttled":1}`, n%3), &lease)
		require.True(t, lease.Paused)
		second, _, err = runOf(t.Context(), s, name, "write")
		require.NoError(t, err)
	}
	after, err := status(t.Context(), s, name, "write")
	require.NoError(t, err)
	require.Equal(t, before.PausedUntil.UnixMilli(), after.PausedUntil.UnixMilli())
	require.Equal(t, before.Reason, after.Reason)
	require.Equal(t, before.Utilization, after.Utilization)
	require.Equal(t, before.Provisioned, after.Provisioned)
	require.GreaterOrEqual(t, len(after.Leases), 3)
	require.Positive(t, after.ThrottledPerMinute)
	tell(t, s, name, "write", "unpause", `{}`, nil)
	tell(t, s, name, "write", "set", `{"utilization":0.98}`, nil)
	var lease throughput.Lease
	tell(t, s, name, "write", "lease", `{"worker":"w0","demand":{"3":5}}`, &lease)
	require.False(t, lease.Paused)
	s.Record("throughput/"+budget(s, name, "write"), "Throughput", "continued-as-new", first)
	s.Record("throughput/"+budget(s, name, "write"), "Throughput", "continued")
}

// An owner on a task queue that nobody polls leaves a worker a unit a second; the
// starter does not wait for it, and all is well when a worker comes.
func TestAnOwnerThatCannotBeReached(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 50, Write: 50})
	nobody := s.Name("nobody")
	options, input := throughputworkflow.Owners{Client: s.Client, TaskQueue: nobody}.Options(budget(s, name, "write"))
	_, err := s.Client.ExecuteWorkflow(t.Context(), options, workflows.TypeThroughput, input)
	require.NoError(t, err)
	w := s.StartWorker()
	run := caller(t, s)("PutItem", 0, puts(name, 4, "")...)

	set := s.Starter("throughput", "set", budget(s, name, "write"), "--utilization", "0.5").Exits(t, 1)
	require.Contains(t, set.Stderr, "no worker polls queue "+nobody)
	shown := s.Starter("throughput", "status", budget(s, name, "write")).Exits(t, 1)
	require.Contains(t, shown.Stderr, "no worker polls queue "+nobody)

	outputs(t, run)
	require.Contains(t, w.Logs(), "budget owner not reached")

	s.StartWorker("SLUICE_THROUGHPUT_TASK_QUEUE=" + nobody)
	awaitStatus(t, s, name, "write", "the worker has a share", func(st throughput.Status) bool { return len(st.Leases) > 0 })
	outputs(t, caller(t, s)("PutItem", 0, puts(name, 60, "")...))
}

// An owner that nobody uses ends by itself. Ten minutes are long for a test, so
// only its history is kept, which every run replays.
func TestAnOwnerEndsWhenIdle(t *testing.T) {
	if os.Getenv("SLUICE_RECORD") != "1" {
		t.Skip("takes eleven minutes; `make record` runs it, and its history is among those replayed")
	}
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 50, Write: 50})
	s.StartWorker()
	outputs(t, caller(t, s)("PutItem", 0, puts(name, 3, "")...))
	began := time.Now()
	harness.AwaitFor(t, 15*time.Minute, "it has ended", func(ctx context.Context) error {
		_, running, err := runOf(ctx, s, name, "write")
		if err == nil && running {
			err = errors.New("it goes on")
		}
		return err
	})
	require.GreaterOrEqual(t, time.Since(began), throughput.IdleEnd-time.Second)
	s.Record("throughput/"+budget(s, name, "write"), "Throughput", "ended-when-idle")
}

package requests_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice"
	"sluice/tests/harness"
	"sluice/workflows"
)

func startOptions(id, queue string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: id, TaskQueue: queue}
}

func updateOptions(id, name, input string) client.UpdateWorkflowOptions {
	return client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: []any{json.RawMessage(input)}, WaitForStage: client.WorkflowUpdateStageCompleted,
	}
}

// visible waits until a visibility query finds so many requests.
func visible(c client.Client, clause string, n int64) func(context.Context) error {
	return func(ctx context.Context) error {
		count, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Query: `WorkflowType="Request" AND ExecutionStatus="Running" AND ` + clause})
		if err == nil && count.GetCount() != n {
			err = fmt.Errorf("%d found", count.GetCount())
		}
		return err
	}
}

// awaitCheckpoint waits until the server has a heartbeat of the activity that is
// past its first step, so that a stop from here on leaves a checkpoint.
func (b *bench) awaitCheckpoint(run client.WorkflowRun, activityID string) {
	b.t.Helper()
	b.awaitCheckpointOf(run.GetID(), activityID)
}

func (b *bench) awaitCheckpointOf(workflowID, activityID string) {
	b.t.Helper()
	harness.Await(b.t, "a checkpoint of "+activityID, func(ctx context.Context) error {
		described, err := b.c.DescribeWorkflow(ctx, workflowID, "")
		if err != nil {
			return err
		}
		for _, pending := range described.RawResponse.GetPendingActivities() {
			if pending.GetActivityId() != activityID {
				continue
			}
			var steps int
			if err := converter.GetDefaultDataConverter().FromPayloads(pending.GetHeartbeatDetails(), &steps); err != nil {
				return err
			}
			if steps == 0 {
				return errors.New("still at its first step")
			}
			return nil
		}
		return errors.New("not running")
	})
}

// awaitStarted waits until a worker has the activity.
func (b *bench) awaitStarted(run client.WorkflowRun, activityID string) {
	b.t.Helper()
	harness.Await(b.t, activityID+" is started", func(ctx context.Context) error {
		described, err := b.c.DescribeWorkflow(ctx, run.GetID(), "")
		if err != nil {
			return err
		}
		for _, pending := range described.RawResponse.GetPendingActivities() {
			if pending.GetActivityId() == activityID && pending.GetState() == enumspb.PENDING_ACTIVITY_STATE_STARTED {
				return nil
			}
		}
		return errors.New("not yet")
	})
}

// hold makes jobs run until the test lets them end: they name the file in "until".
func (b *bench) hold() (until string, release func()) {
	b.t.Helper()
	until = filepath.Join(b.t.TempDir(), "released")
	return until, func() { require.NoError(b.t, os.WriteFile(until, nil, 0o600)) }
}

// awaitEvent waits until the request's history has an event of this type.
func (b *bench) awaitEvent(run client.WorkflowRun, wanted enumspb.EventType) {
	b.t.Helper()
	harness.Await(b.t, wanted.String(), func(ctx context.Context) error {
		events := b.c.GetWorkflowHistory(ctx, run.GetID(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return err
			}
			if event.GetEventType() == wanted {
				return nil
			}
		}
		return errors.New("not yet")
	})
}

// replayFile replays a history file, against our code or against code that does
// its steps in another order.
func replayFile(path string, ours bool) error {
	var options worker.WorkflowReplayerOptions
	if ours {
		options.Plugins = []worker.Plugin{sluice.Plugin(nil)}
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(options)
	if err != nil {
		return err
	}
	if !ours {
		replayer.RegisterWorkflowWithOptions(reordered, workflow.RegisterOptions{Name: workflows.TypeRequest})
	}
	return replayer.ReplayWorkflowHistoryFromJSONFile(nil, path)
}

// reordered begins with a step that the real code takes later.
func reordered(ctx workflow.Context) error {
	return workflow.NewTimer(ctx, 1).Get(ctx, nil)
}

// awaitAlive waits until a workflow of this ID runs and has begun.
func (b *bench) awaitAlive(id string) {
	b.t.Helper()
	harness.Await(b.t, id+" runs", func(ctx context.Context) error {
		described, err := b.c.DescribeWorkflow(ctx, id, "")
		if err != nil {
			return err
		}
		if info := described.RawResponse.GetWorkflowExecutionInfo(); info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING || info.GetHistoryLength() < 4 {
			return fmt.Errorf("%s, %d events", info.GetStatus(), info.GetHistoryLength())
		}
		return nil
	})
}

// withAndWithoutCache runs a test with workers that keep workflows in their cache,
// and with ones that replay the history for every workflow task.
func withAndWithoutCache(t *testing.T, test func(*testing.T, *bench)) {
	const usual = 10_000
	for name, size := range map[string]int{"cached": usual, "replayed": 0} {
		t.Run(name, func(t *testing.T) {
			worker.SetStickyWorkflowCacheSize(size)
			t.Cleanup(func() { worker.SetStickyWorkflowCacheSize(usual) })
			test(t, newBench(t))
		})
	}
}

// Package replay_test runs the workflows of this checkout against histories that
// earlier code recorded: testdata/<workflow type>/<scenario>.json, in the form
// of `temporal workflow show --output json`.
package replay_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice"
)

// TestReplay fails when runs in flight would break on deployment. Gate the
// change with workflow.GetVersion; never record a history anew to make it pass.
func TestReplay(t *testing.T) {
	histories, err := filepath.Glob("testdata/*/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, histories, "no histories: run `make record`")
	for _, path := range histories {
		name, _ := filepath.Rel("testdata", path)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			history := load(t, path)
			require.Equal(t, filepath.Base(filepath.Dir(path)), typeOf(history), "history filed under another workflow's name")
			replayer := newReplayer(t, sluice.Plugin(nil))
			require.NoError(t, replayer.ReplayWorkflowHistoryWithOptions(nil, history, asRecorded(history)))
		})
	}
}

// TestEveryWorkflowHasAHistory keeps the net whole: a workflow that nobody
// recorded is one that nobody replays.
func TestEveryWorkflowHasAHistory(t *testing.T) {
	for _, name := range sluice.WorkflowNames() {
		recorded, err := filepath.Glob(filepath.Join("testdata", name, "*.json"))
		require.NoError(t, err)
		require.NotEmptyf(t, recorded, "no history for %s: run `make record`", name)
	}
}

// TestChangedWorkflowFailsReplay guards the net itself: code of the same type
// that does something else has to be caught, for every workflow.
func TestChangedWorkflowFailsReplay(t *testing.T) {
	for _, name := range sluice.WorkflowNames() {
		t.Run(name, func(t *testing.T) {
			recorded, err := filepath.Glob(filepath.Join("testdata", name, "*.json"))
			require.NoError(t, err)
			require.NotEmpty(t, recorded)
			replayer := newReplayer(t)
			replayer.RegisterWorkflowWithOptions(changed, workflow.RegisterOptions{Name: name})
			err = replayer.ReplayWorkflowHistory(nil, load(t, recorded[0]))
			require.ErrorContains(t, err, "TMPRL1100", "a changed %s passed its replay", name)
		})
	}
}

// changed stands for a workflow that was changed without a gate: its first
// command is one that no history of ours begins with.
func changed(ctx workflow.Context) error {
	workflow.GetVersion(ctx, "changed", workflow.DefaultVersion, 1)
	return workflow.NewTimer(ctx, 1).Get(ctx, nil)
}

// newReplayer replays with what a plugin adds.
func newReplayer(t *testing.T, plugins ...worker.Plugin) worker.WorkflowReplayer {
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Plugins: plugins,
		// How fast this machine is decides nothing here: the SDK's second is short for a
		// large request beside other work, and the workers allow more.
		DisableDeadlockDetection: true,
	})
	require.NoError(t, err)
	return replayer
}

func load(t *testing.T, path string) *historypb.History {
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	history, err := client.HistoryFromJSON(f, client.HistoryJSONOptions{})
	require.NoError(t, err, "%s can't be read; export it by `starter history export` or `temporal workflow show --output json`", path)
	return history
}

// asRecorded gives the replay the recorded workflow ID: a workflow derives from
// its own ID those of its children.
func asRecorded(history *historypb.History) worker.ReplayWorkflowHistoryOptions {
	started := history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes()
	return worker.ReplayWorkflowHistoryOptions{OriginalExecution: workflow.Execution{ID: started.GetWorkflowId(), RunID: started.GetOriginalExecutionRunId()}}
}

func typeOf(history *historypb.History) string {
	return history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()
}

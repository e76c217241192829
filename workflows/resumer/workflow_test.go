package resumer

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// TestSweepOfManyFailuresFitsAResult: 27,000 failures once grew past a payload.
func TestSweepOfManyFailuresFitsAResult(t *testing.T) {
	s := &sweep{result: Result{Resumed: []string{}, Skipped: []Skipped{}, Failed: []Failed{}}}
	const failures = 27_000
	for n := range failures {
		s.note(fmt.Sprintf("request/%d", n), wire.Resumed{Error: strings.Repeat("<", n%100) + "no worker polls queue jobs"})
	}
	raw, err := json.Marshal(s.result)
	require.NoError(t, err)
	require.Less(t, len(raw), maxSwept+100)
	require.Greater(t, len(s.result.Failed), 1_000)
	require.Equal(t, failures, len(s.result.Failed)+s.result.Omitted)
	require.Contains(t, string(raw), `"resumed":[]`)
}

// TestSweepListsAgainWhatDidNotFit, as long as that helps, and asks none again that
// could not be resumed.
func TestSweepListsAgainWhatDidNotFit(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	lists := [][]string{{"a", "bad"}, {"b", "bad", "c"}, {"bad"}, {"never asked for"}}
	asked := 0
	env.RegisterActivityWithOptions(func(context.Context, wire.ListSuspendedInput) (*wire.Suspended, error) {
		asked++
		return &wire.Suspended{IDs: lists[asked-1], Left: 1}, nil
	}, activity.RegisterOptions{Name: wire.ListSuspended.Name})
	resumed := map[string]int{}
	var mu sync.Mutex // activities run beside each other
	env.RegisterActivityWithOptions(func(_ context.Context, in wire.ResumeInput) (*wire.Resumed, error) {
		mu.Lock()
		defer mu.Unlock()
		resumed[in.ID]++
		if in.ID == "bad" {
			return &wire.Resumed{Error: "no"}, nil
		}
		return &wire.Resumed{Resumed: true}, nil
	}, activity.RegisterOptions{Name: wire.ResumeRequest.Name})
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeResumeSuspended})
	env.ExecuteWorkflow(wire.TypeResumeSuspended, json.RawMessage(`{}`))
	var result Result
	require.NoError(t, env.GetWorkflowResult(&result))
	require.ElementsMatch(t, []string{"a", "b", "c"}, result.Resumed)
	require.Equal(t, []Failed{{ID: "bad", Error: "no"}}, result.Failed)
	require.Equal(t, map[string]int{"a": 1, "b": 1, "c": 1, "bad": 1}, resumed)
	require.Equal(t, 1, result.Left)
	require.Equal(t, 3, asked)
}

func TestSweepRefusesWhatItCouldNotCarry(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeResumeSuspended})
	env.ExecuteWorkflow(wire.TypeResumeSuspended, json.RawMessage(`{"holder":"`+strings.Repeat("€", 334)+`","filter":"`+strings.Repeat("f", 17_000)+`"}`))
	require.ErrorContains(t, env.GetWorkflowError(), "holder: 1002 bytes; at most 1000; filter: 17000 bytes; at most 16384")
}

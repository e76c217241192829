// Package quiescence_test runs Quiescence and CountObjects through the public
// door: worker process, starter and command line against the dev stack.
package quiescence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// result is Quiescence's result document, as outsiders read it.
type result struct {
	Reason      string
	Note        string
	Count       int64
	Polls       int64
	FailedPolls int64
	FirstAt     *time.Time
	FinishedAt  time.Time
	Generation  int
	Late        bool
	Then        []struct {
		N     int
		OK    bool
		Error string
	}
}

// status is its status document.
type status struct {
	AsOf                      time.Time
	Phase                     string
	Count, Polls, FailedPolls int64
	Repeats, RepeatsNeeded    int
	Generation                int
	NextPollAt, QuietAt       *time.Time
	LastError                 string
	Result                    *result
}

// watch starts a Quiescence from a document.
func watch(t *testing.T, s *harness.Stack, id, document string) client.WorkflowRun {
	t.Helper()
	run, err := s.Client.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: id, TaskQueue: s.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
	}, "Quiescence", json.RawMessage(document))
	require.NoError(t, err)
	return run
}

func resultOf(t *testing.T, run client.WorkflowRun) result {
	t.Helper()
	var r result
	require.NoError(t, run.Get(t.Context(), &r))
	return r
}

func statusOf(t *testing.T, s *harness.Stack, id string) status {
	t.Helper()
	value, err := s.Client.QueryWorkflow(t.Context(), id, "", "status")
	require.NoError(t, err)
	var st status
	require.NoError(t, value.Get(&st))
	return st
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

func awaitPhase(t *testing.T, s *harness.Stack, id, phase string) {
	t.Helper()
	awaitStatus(t, s, id, phase, func(st status) bool { return st.Phase == phase })
}

func awaitStatus(t *testing.T, s *harness.Stack, id, what string, check func(status) bool) {
	t.Helper()
	harness.Await(t, id+" is "+what, func(context.Context) error {
		if st := statusOf(t, s, id); !check(st) {
			return fmt.Errorf("status %+v", st)
		}
		return nil
	})
}

package programs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/tests/harness"
)

// A run without a worker is started all the same, and the person is told.
func TestARunThatNoWorkerTakesSaysSo(t *testing.T) {
	s := harness.Start(t)
	id := s.Name("request")
	began := time.Now()
	r := s.StarterWith(`{"jobs":[{"id":"a","activity":"S3.List"}]}`, "request", "run", "--id", id, "-f", "-").OK(t)
	require.GreaterOrEqual(t, time.Since(began), 10*time.Second)
	require.Contains(t, r.Stderr, "no worker on queue "+s.TaskQueue+" has taken "+id)
	var started struct{ WorkflowID, RunID string }
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &started))
	require.Equal(t, id, started.WorkflowID)
	told := s.Starter("request", "status", id).Exits(t, 1)
	require.Contains(t, told.Stderr, "no worker polls queue "+s.TaskQueue)
}

// A run that failed before it could answer a query has a status all the same: its
// end.
func TestAStatusTellsTheEndOfARunThatFailedInItsFirstTask(t *testing.T) {
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	id := "quiescence/" + s.Name("q")
	s.Temporal("workflow", "start", "--type", "Quiescence", "--task-queue", s.TaskQueue, "--workflow-id", id, "--input", "{}").OK(t)
	harness.Await(t, "the end", func(context.Context) error {
		r := s.Starter("quiescence", "status", id)
		if r.Code != 1 || !strings.Contains(r.Stderr, "InvalidInput: ") {
			return fmt.Errorf("exit %d: %s", r.Code, r.Stderr)
		}
		for _, part := range []string{id + " has ended: Failed", "source: required"} {
			if !strings.Contains(r.Stderr, part) {
				return harness.Never(fmt.Errorf("not in %s: %s", r.Stderr, part))
			}
		}
		return nil
	})
}

// strange starts a worker of another version than the program: it knows only this type,
// and refuses whatever it is asked.
func strange(t *testing.T, s *harness.Stack, workflowType string) {
	t.Helper()
	w := worker.New(s.Client, s.TaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(workflow.Context, json.RawMessage) error {
		return temporal.NewNonRetryableApplicationError("source: of an unknown kind", "InvalidInput", nil)
	}, workflow.RegisterOptions{Name: workflowType})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
}

func TestARunThatItsWorkerRefusesFails(t *testing.T) {
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	strange(t, s, "Quiescence")
	refused := s.Starter("quiescence", "run", "--bucket", "b").Exits(t, 1)
	require.Contains(t, refused.Stderr, "InvalidInput: source: of an unknown kind")
	require.Contains(t, refused.Stdout, `"workflowId"`, "it was started")
	unknown := s.Starter("count", "run", "--queue-url", "http://127.0.0.1/q", "--table", "t").Exits(t, 1)
	require.Contains(t, unknown.Stderr, "a worker can't run count/q")
	require.Contains(t, unknown.Stderr, "CountObjects")
}

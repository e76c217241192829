package programs_test

import (
	"encoding/json"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/tests/harness"
)

// soon is how long a waiting command may take to tell why nothing moves: ten
// seconds, and as many for a machine that is busy.
const soon = 20 * time.Second

// tells waits until a command that runs says all of this, within the time that a
// person is promised.
func tells(t *testing.T, command *harness.Process, began time.Time, words ...string) {
	t.Helper()
	for _, part := range words {
		command.AwaitLog(t, part)
	}
	require.Less(t, time.Since(began), soon+10*time.Second)
	t.Logf("told after %s:\n%s", time.Since(began).Round(time.Second), command.Logs())
}

// interrupt ends a command as Ctrl-C does: what it started goes on.
func interrupt(t *testing.T, command *harness.Process, look string) {
	t.Helper()
	command.Signal(syscall.SIGINT)
	require.Equal(t, 3, command.Wait(t, soon), command.Logs())
	require.Contains(t, command.Logs(), "goes on; look with: starter "+look)
}

// status reads waitsFor and lastError of a status that is alive.
func status(t *testing.T, s *harness.Stack, args ...string) (waitsFor []string, lastError string) {
	t.Helper()
	var told struct {
		WaitsFor  []string
		LastError string
	}
	r := s.Starter(args...).Exits(t, 3)
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &told), r.Stdout)
	return told.WaitsFor, told.LastError
}

// A command that waits asks a workflow that changes all the time at most twelve times
// a minute: each query is billed and takes a worker's time.
func TestAWaitAsksTwelveTimesAMinuteAtMost(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	var queries atomic.Int64
	w := worker.New(s.Client, s.TaskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ json.RawMessage) (json.RawMessage, error) {
		err := workflow.SetQueryHandler(ctx, "status", func() (json.RawMessage, error) {
			queries.Add(1)
			return json.RawMessage(`{"state":"RUNNING","totalJobs":1}`), nil
		})
		for range 50 { // changes twice a second at least
			err = errors.Join(err, workflow.Sleep(ctx, 200*time.Millisecond))
		}
		return json.RawMessage(`{"state":"COMPLETE","totalJobs":1}`), err
	}, workflow.RegisterOptions{Name: "Request"})
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)
	began := time.Now()
	s.StarterWith(`{"jobs":[{"id":"a","activity":"x"}]}`, "request", "run", "-f", "-", "--wait").OK(t)
	took := time.Since(began)
	require.GreaterOrEqual(t, took, 10*time.Second)
	require.Positive(t, queries.Load())
	require.LessOrEqual(t, float64(queries.Load()), 1+took.Minutes()*12)
}

package task

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// field is a Task in the time-skipping environment, whose work is a Go function.
type field struct {
	*testsuite.TestWorkflowEnvironment
	start      time.Time
	resolved   []wire.Outcome
	told       []wire.FinishedTask
	terminated []string
	followed   []string

	follow                wire.Followed // how work ends that an earlier run started
	tellFails, renewFails error
}

func newField(work func(workflow.Context) (any, error)) *field {
	var suite testsuite.WorkflowTestSuite
	f := &field{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), start: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)}
	f.SetStartTime(f.start)
	f.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	f.SetStartWorkflowOptions(clientOptions("task/a/2"))
	f.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeTask})
	for _, name := range []string{"Work", wire.TypeRequest} {
		f.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ json.RawMessage) (any, error) { return work(ctx) }, workflow.RegisterOptions{Name: name})
	}
	f.activity(wire.TaskResolve.Name, func(_ context.Context, in wire.ResolveInput) error {
		f.resolved = append(f.resolved, in.Outcome)
		return nil
	})
	f.activity(wire.TaskFinished.Name, func(_ context.Context, in wire.FinishedInput) error {
		f.told = append(f.told, in.Task)
		return f.tellFails
	})
	f.activity(wire.TaskTerminate.Name, func(_ context.Context, in wire.FollowInput) error {
		f.terminated = append(f.terminated, in.WorkflowID)
		return nil
	})
	f.activity(wire.TaskReclaim.Name, func(context.Context, wire.TaskRef) (taskclaim.Lease, error) {
		return taskclaim.Lease{TakenAt: f.Now(), TakenUntil: f.Now().Add(20 * time.Minute)}, f.renewFails
	})
	f.activity(wire.FollowWorkflow.Name, func(context.Context, wire.FollowInput) (wire.Followed, error) { return wire.Followed{}, nil })
	f.OnActivity(wire.FollowWorkflow.Name, mock.Anything, mock.Anything).Return(func(_ context.Context, in wire.FollowInput) (wire.Followed, error) {
		f.followed = append(f.followed, in.WorkflowID)
		return f.follow, nil
	}).Maybe()
	return f
}

func (f *field) activity(name string, code any) {
	f.RegisterActivityWithOptions(code, activity.RegisterOptions{Name: name})
}

// input is a Task's, with a claim of twenty minutes or without.
func (f *field) input(run string, claimed bool) continued {
	in := continued{input: input{wire.TaskInput{
		TaskID: "a", RunID: 2, Run: wire.RunSpec{Workflow: run}, Queue: "q", Payload: json.RawMessage(`{"of":"the work"}`),
		Claimer: wire.ClaimerRef{WorkflowID: "claim/q", FirstRunID: "first"},
	}}}
	if claimed {
		in.Claim = &wire.TaskClaim{Service: "http://127.0.0.1:1", ReclaimBefore: duration.Duration(3 * time.Minute),
			Lease: taskclaim.Lease{TakenAt: f.start, TakenUntil: f.start.Add(20 * time.Minute)}}
	}
	return in
}

func (f *field) run(t *testing.T, in any) (status Status, err error) {
	t.Helper()
	f.ExecuteWorkflow(wire.TypeTask, in)
	require.True(t, f.IsWorkflowCompleted())
	if err = f.GetWorkflowError(); err == nil {
		require.NoError(t, f.GetWorkflowResult(&status))
	}
	return status, err
}

// lasting is work of so long that ends when it is asked to.
func lasting(d time.Duration) func(workflow.Context) (any, error) {
	return func(ctx workflow.Context) (any, error) { return nil, workflow.Sleep(ctx, d) }
}

// stubborn is work of so long that does not end when it is asked to.
func stubborn(d time.Duration) func(workflow.Context) (any, error) {
	return func(ctx workflow.Context) (any, error) {
		steady, _ := workflow.NewDisconnectedContext(ctx)
		return nil, workflow.Sleep(steady, d)
	}
}

// Work that does not stop has its outcome dropped after a minute, or when its claim is
// over. Under a claim it outlives its task, so it is terminated; else Temporal does that.
func TestWorkThatDoesNotStopHasItsOutcomeDropped(t *testing.T) {
	for name, c := range map[string]struct {
		claimed    bool
		stopAt     time.Duration
		ends       time.Duration
		terminated []string
	}{
		"without a claim": {false, 5 * time.Minute, 6 * time.Minute, nil},
		"with one":        {true, 5 * time.Minute, 6 * time.Minute, []string{"task/a/2/run"}},
	} {
		f := newField(stubborn(10 * time.Hour))
		f.RegisterDelayedCallback(func() { f.SignalWorkflow(wire.SignalStop, wire.StopInput{Reason: "enough"}) }, c.stopAt)
		status, err := f.run(t, f.input("Work", c.claimed))
		require.NoError(t, err, name)
		require.Equal(t, TaskException, status.State, name)
		require.Equal(t, wire.ReasonWorkerShutdown, status.Reason, name)
		require.Equal(t, "enough", status.LastError, name)
		require.WithinDuration(t, f.start.Add(c.ends), *status.FinishedAt, time.Second, name)
		require.Equal(t, c.terminated, f.terminated, name)
		require.Equal(t, wire.OutcomeException, f.told[0].State, name)
		require.Equal(t, c.claimed, len(f.resolved) == 1, "%s: reported to the service where there is one", name)
	}
}

// Where the claim can't be renewed such work has until the claim is over, and no longer:
// another may have the run then.
func TestWorkThatDoesNotStopEndsWithItsClaim(t *testing.T) {
	f := newField(stubborn(10 * time.Hour))
	f.renewFails = temporal.NewNonRetryableApplicationError("HTTP 503", activities.TypeUnavailable, nil)
	status, err := f.run(t, f.input("Work", true))
	require.NoError(t, err)
	require.Equal(t, wire.ReasonClaimExpired, status.Reason)
	require.WithinDuration(t, f.start.Add(20*time.Minute), *status.FinishedAt, time.Second)
	require.Equal(t, []string{"task/a/2/run"}, f.terminated)
}

// Work that ends while it is asked to stop counts by how it ends: what has completed has.
func TestWorkThatCompletesWhileItIsAskedToStopIsCompleted(t *testing.T) {
	f := newField(stubborn(5*time.Minute + 30*time.Second))
	f.RegisterDelayedCallback(func() { f.SignalWorkflow(wire.SignalStop, wire.StopInput{}) }, 5*time.Minute)
	status, err := f.run(t, f.input("Work", true))
	require.NoError(t, err)
	require.Equal(t, TaskCompleted, status.State)
	require.Empty(t, f.terminated)
}

// Temporal's cancel does what stop does: the work stops, and the outcome is told.
func TestACancelledTaskStopsItsWorkAndTellsItsEnd(t *testing.T) {
	f := newField(lasting(time.Hour))
	f.RegisterDelayedCallback(f.CancelWorkflow, time.Minute)
	status, err := f.run(t, f.input("Work", true))
	require.NoError(t, err)
	require.Equal(t, wire.ReasonWorkerShutdown, status.Reason)
	require.Equal(t, []wire.Outcome{{State: wire.OutcomeException, Reason: wire.ReasonWorkerShutdown}}, f.resolved)
	require.Len(t, f.told, 1)
	require.WithinDuration(t, f.start.Add(time.Minute), *status.FinishedAt, 2*time.Second)
}

// A request that was stopped has completed its workflow, and its task has failed; what
// another workflow's result says of a state means nothing.
func TestARequestThatWasStoppedIsAFailedTask(t *testing.T) {
	for run, want := range map[string]string{wire.TypeRequest: TaskFailed, "Work": TaskCompleted} {
		f := newField(func(workflow.Context) (any, error) { return map[string]string{"state": "STOPPED"}, nil })
		status, err := f.run(t, f.input(run, false))
		require.NoError(t, err)
		require.Equal(t, want, status.State, run)
	}
}

// Work that was cancelled by others or could not be started may be tried again.
func TestWorkThatEndsByNoDoingOfItsOwn(t *testing.T) {
	f := newField(func(workflow.Context) (any, error) { return nil, temporal.NewCanceledError() })
	status, err := f.run(t, f.input("Work", false))
	require.NoError(t, err)
	require.Equal(t, wire.ReasonWorkerShutdown, status.Reason)

	for _, err := range []error{&temporal.TerminatedError{}, temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil), errors.New("could not be started")} {
		require.Equal(t, wire.Outcome{State: wire.OutcomeException, Reason: wire.ReasonInternalError}, outcomeOf(err))
	}
}

// A task ends though its claimer can't be told, which looks after its tasks itself; one
// of no claimer tells nobody.
func TestATaskEndsThoughItsClaimerCannotBeTold(t *testing.T) {
	f := newField(lasting(time.Second))
	f.tellFails = temporal.NewNonRetryableApplicationError("no answer", "any", errors.New("no answer"))
	status, err := f.run(t, f.input("Work", false))
	require.NoError(t, err)
	require.Equal(t, TaskCompleted, status.State)
	require.NotEmpty(t, f.told)

	f = newField(lasting(time.Second))
	in := f.input("Work", false)
	in.Claimer = wire.ClaimerRef{}
	_, err = f.run(t, in)
	require.NoError(t, err)
	require.Empty(t, f.told)
}

// The work is a child under the task's ID and gets the payload.
func TestTheWorkIsTheTasksChild(t *testing.T) {
	f := newField(lasting(time.Second))
	var id, parent, got string
	f.SetOnChildWorkflowStartedListener(func(info *workflow.Info, _ workflow.Context, args converter.EncodedValues) {
		var payload json.RawMessage
		require.NoError(t, args.Get(&payload))
		id, parent, got = info.WorkflowExecution.ID, info.ParentWorkflowExecution.ID, string(payload)
	})
	_, err := f.run(t, f.input("Work", false))
	require.NoError(t, err)
	require.Equal(t, "task/a/2/run", id)
	require.Equal(t, "task/a/2", parent)
	require.JSONEq(t, `{"of":"the work"}`, got)
}

package task

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// taskRun is what happened to a Task in the time-skipping environment.
type taskRun struct {
	result   Status
	err      error
	reclaims []time.Duration // since the start
	resolved []wire.Outcome
	told     []wire.FinishedTask
}

// runTask runs a Task under a claim of 20 minutes, whose work takes so long and
// ends so; reclaim answers each renewal.
func runTask(t *testing.T, takes time.Duration, ends error, reclaim func(n int) error, before func(*testsuite.TestWorkflowEnvironment)) taskRun {
	t.Helper()
	return runTaskGiving(t, nil, takes, ends, reclaim, before)
}

// runTaskGiving is runTask of work that has a result.
func runTaskGiving(t *testing.T, gives any, takes time.Duration, ends error, reclaim func(n int) error, before func(*testsuite.TestWorkflowEnvironment)) (r taskRun) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	start := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	env.SetStartTime(start)
	env.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeTask})
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ json.RawMessage) (any, error) {
		if err := workflow.Sleep(ctx, takes); err != nil {
			return nil, err
		}
		return gives, ends
	}, workflow.RegisterOptions{Name: "Work"})
	env.RegisterActivityWithOptions(func(context.Context, wire.TaskRef) (taskclaim.Lease, error) {
		r.reclaims = append(r.reclaims, env.Now().Sub(start))
		return taskclaim.Lease{TakenAt: env.Now(), TakenUntil: env.Now().Add(20 * time.Minute)}, reclaim(len(r.reclaims))
	}, activity.RegisterOptions{Name: wire.TaskReclaim.Name})
	env.RegisterActivityWithOptions(func(_ context.Context, in wire.ResolveInput) error {
		r.resolved = append(r.resolved, in.Outcome)
		return nil
	}, activity.RegisterOptions{Name: wire.TaskResolve.Name})
	env.RegisterActivityWithOptions(func(_ context.Context, in wire.FinishedInput) error {
		r.told = append(r.told, in.Task)
		return nil
	}, activity.RegisterOptions{Name: wire.TaskFinished.Name})
	if before != nil {
		before(env)
	}
	env.ExecuteWorkflow(wire.TypeTask, wire.TaskInput{
		TaskID: "a", RunID: 2, Run: wire.RunSpec{Workflow: "Work"}, Queue: "q",
		Claimer: wire.ClaimerRef{WorkflowID: "claim/q", FirstRunID: "first"},
		Claim: &wire.TaskClaim{Service: "http://127.0.0.1:1", ReclaimBefore: duration.Duration(3 * time.Minute),
			Lease: taskclaim.Lease{TakenAt: start, TakenUntil: start.Add(20 * time.Minute)}},
	})
	require.True(t, env.IsWorkflowCompleted())
	if r.err = env.GetWorkflowError(); r.err == nil {
		require.NoError(t, env.GetWorkflowResult(&r.result))
	}
	return r
}

func always(int) error { return nil }

func TestTaskRenewsItsClaimThreeMinutesAhead(t *testing.T) {
	r := runTask(t, 45*time.Minute, nil, always, nil)
	require.NoError(t, r.err)
	require.Len(t, r.reclaims, 2)
	last := time.Duration(0)
	for _, at := range r.reclaims { // up to a tenth of the second half of the time to 17m is taken off
		require.InDelta(t, (17 * time.Minute).Seconds(), (at - last).Seconds(), 45)
		require.LessOrEqual(t, at-last, 17*time.Minute)
		last = at
	}
	require.Equal(t, []wire.Outcome{{State: "completed"}}, r.resolved)
	require.Equal(t, []wire.FinishedTask{{TaskID: "a", RunID: 2, FirstRunID: "first", Outcome: wire.Outcome{State: "completed"}}}, r.told)
	require.Equal(t, TaskCompleted, r.result.State)
}

// TestTaskWhoseResultIsNoJSONIsCompleted: a protobuf once counted as an error, and
// the service might have had the work done again.
func TestTaskWhoseResultIsNoJSONIsCompleted(t *testing.T) {
	for _, gives := range []any{&commonpb.WorkflowType{Name: "a protobuf"}, []byte{0xff, 0}, "text", nil} {
		r := runTaskGiving(t, gives, time.Minute, nil, always, nil)
		require.NoError(t, r.err)
		require.Equal(t, []wire.Outcome{{State: "completed"}}, r.resolved, "%v", gives)
		require.Empty(t, r.result.LastError)
	}
}

func TestTaskStopsHalfAMinuteBeforeItsClaimEnds(t *testing.T) {
	r := runTask(t, 5*time.Hour, nil, func(int) error {
		return temporal.NewApplicationErrorWithOptions("HTTP 503", activities.TypeUnavailable,
			temporal.ApplicationErrorOptions{NextRetryDelay: 10 * time.Second})
	}, nil)
	require.NoError(t, r.err)
	require.Greater(t, len(r.reclaims), 5, "repeated until there is no time left")
	require.Less(t, r.reclaims[len(r.reclaims)-1], 20*time.Minute-30*time.Second)
	require.Equal(t, []wire.Outcome{{State: "exception", Reason: "claim-expired"}}, r.resolved)
	require.WithinDuration(t, r.result.StartedAt.Add(20*time.Minute-30*time.Second), *r.result.FinishedAt, 2*time.Second)
}

func TestTaskReportsNothingAfterConflict(t *testing.T) {
	r := runTask(t, 5*time.Hour, nil, func(int) error {
		return activities.Fail(activities.TypeConflict, activities.Failure{Message: "HTTP 409"})
	}, nil)
	require.NoError(t, r.err)
	require.Empty(t, r.resolved)
	require.Equal(t, TaskCanceled, r.result.State)
	require.Equal(t, "canceled", r.told[0].State)
}

func TestTaskToldToStopIsAWorkerShutdown(t *testing.T) {
	r := runTask(t, time.Hour, nil, always, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(wire.SignalStop, json.RawMessage(`{"reason":"test"}`))
		}, time.Minute)
	})
	require.NoError(t, r.err)
	require.Equal(t, []wire.Outcome{{State: "exception", Reason: "worker-shutdown"}}, r.resolved)
}

// TestTaskKeepsNoMoreThanAThousandBytesOfAReason: it is shown, carried and part of the
// result.
func TestTaskKeepsNoMoreThanAThousandBytesOfAReason(t *testing.T) {
	r := runTask(t, time.Hour, nil, always, func(env *testsuite.TestWorkflowEnvironment) {
		env.RegisterDelayedCallback(func() {
			env.SignalWorkflow(wire.SignalStop, json.RawMessage(`{"reason":"`+strings.Repeat("€", 1000)+`"}`))
		}, time.Minute)
	})
	require.NoError(t, r.err)
	require.Equal(t, strings.Repeat("€", 332)+"…", r.result.LastError)
}

func TestTaskOutcomes(t *testing.T) {
	application := func(errType string) error { return temporal.NewNonRetryableApplicationError("x", errType, nil) }
	for _, c := range []struct {
		ends error
		want wire.Outcome
	}{
		{nil, wire.Outcome{State: "completed"}},
		{errors.New("any"), wire.Outcome{State: "failed"}},
		{application(activities.TypeRequestFailed), wire.Outcome{State: "failed"}},
		{application(activities.TypeInvalidInput), wire.Outcome{State: "exception", Reason: "malformed-payload"}},
		{application(activities.TypeThrottled), wire.Outcome{State: "exception", Reason: "intermittent-task"}},
		{application(activities.TypeWorkerLost), wire.Outcome{State: "exception", Reason: "intermittent-task"}},
	} {
		r := runTask(t, time.Second, c.ends, always, nil)
		require.NoError(t, r.err)
		require.Equal(t, []wire.Outcome{c.want}, r.resolved, "%v", c.ends)
	}
}

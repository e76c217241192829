package activities

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// Heartbeats are billed: an activity that is done within an interval has none.
func TestShortWorkHasNoHeartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for length, beats := range map[time.Duration]int{WorkingHeartbeat - 1: 0, WorkingHeartbeat + 1: 1, 3*WorkingHeartbeat + 1: 3} {
			beaten := 0
			activity := func(ctx context.Context) error {
				alive, stop := KeepAlive(ctx, WorkingHeartbeat, func() any { beaten++; return nil })
				defer stop()
				return Sleep(alive, length)
			}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.RegisterActivity(activity)
			_, err := env.ExecuteActivity(activity)
			require.NoError(t, err)
			require.Equal(t, beats, beaten, length)
		}
	})
}

// A job may have a short heartbeat timeout of its own: it holds three heartbeats too.
func TestHeartbeatTimeoutHoldsThreeHeartbeats(t *testing.T) {
	for timeout, interval := range map[time.Duration]time.Duration{3 * time.Second: time.Second, 15 * time.Second: WorkingHeartbeat, 0: WorkingHeartbeat} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.RegisterActivityWithOptions(func(ctx context.Context) (time.Duration, error) {
			return WithinTimeout(ctx, WorkingHeartbeat), nil
		}, activity.RegisterOptions{Name: "interval"})
		env.ExecuteWorkflow(func(ctx workflow.Context) (got time.Duration, err error) {
			ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{StartToCloseTimeout: time.Minute, HeartbeatTimeout: timeout})
			return got, workflow.ExecuteActivity(ctx, "interval").Get(ctx, &got)
		})
		var got time.Duration
		require.NoError(t, env.GetWorkflowResult(&got))
		require.Equal(t, interval, got, timeout)
	}
}

// However long Temporal takes to answer, heartbeats begin an interval apart; one
// that was asked for starts the interval anew.
func TestHeartbeatsAreTimedFromBeginToBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = WorkingHeartbeat
		var began []time.Duration
		start := time.Now()
		activity := func(ctx context.Context) error {
			asked := make(chan struct{}, 1)
			_, stop := KeepBeating(ctx, every, asked, true, func(ctx context.Context) error {
				began = append(began, time.Since(start))
				return Sleep(ctx, every/2)
			})
			defer stop()
			if err := Sleep(ctx, 5*every/2+every/4); err != nil {
				return err
			}
			Notify(asked)
			return Sleep(ctx, 3*every/2)
		}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.RegisterActivity(activity)
		_, err := env.ExecuteActivity(activity)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{0, every, 2 * every, 11 * every / 4, 15 * every / 4}, began)
	})
}

// What an activity finishes after its cancel may take longer than its heartbeat
// timeout: the heartbeats go on, unless nobody waits for them any more.
func TestHeartbeatsGoOnAfterTheCancel(t *testing.T) {
	for _, c := range []struct {
		answer error
		beats  int
	}{{temporal.NewCanceledError(), 8}, {serviceerror.NewNotFound("no such activity"), 1}} {
		synctest.Test(t, func(t *testing.T) {
			beats := 0
			activity := func(ctx context.Context) error {
				alive, stop := KeepBeating(ctx, WorkingHeartbeat, nil, true, func(ctx context.Context) error {
					require.NoError(t, ctx.Err())
					beats++
					return c.answer
				})
				<-alive.Done()
				require.ErrorIs(t, context.Cause(alive), c.answer)
				time.Sleep(15 * time.Second) // what the activity finishes first
				stop()
				return nil
			}
			var suite testsuite.WorkflowTestSuite
			env := suite.NewTestActivityEnvironment()
			env.RegisterActivity(activity)
			_, err := env.ExecuteActivity(activity)
			require.NoError(t, err)
			require.Equal(t, c.beats, beats)
		})
	}
}

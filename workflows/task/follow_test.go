package task

import (
	"context"
	"testing"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// A Task that finds its work running, and was told to stop before it had looked, asks
// the work to stop all the same.
func TestTaskToldToStopBeforeItFollowsStopsTheWork(t *testing.T) {
	for why, asked := range map[ending]bool{"": false, endStopped: true} {
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
		env.RegisterActivityWithOptions(func(_ context.Context, in wire.FollowInput) (wire.Followed, error) {
			require.Equal(t, "task/t/0/run", in.WorkflowID)
			return wire.Followed{Status: wire.FollowedCanceled}, nil
		}, activity.RegisterOptions{Name: wire.FollowWorkflow.Name})
		cancels := 0
		env.OnRequestCancelExternalWorkflow(mock.Anything, "task/t/0/run", "").Run(func(mock.Arguments) { cancels++ }).Return(nil).Maybe()
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			work := &task{id: "task/t/0", why: why}
			work.follow(ctx)
			require.True(t, work.ended)
			require.Error(t, work.workErr)
			return nil
		})
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, asked, cancels > 0, "told to stop: %q", why)
	}
}

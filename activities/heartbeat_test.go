package activities

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
)

// However long Temporal takes to answer, heartbeats begin an interval apart; one
// that was asked for starts the interval anew.
func TestHeartbeatsAreTimedFromBeginToBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const every = WorkingHeartbeat
		var began []time.Duration
		start := time.Now()
		activity := func(ctx context.Context) error {
			asked := make(chan struct{}, 1)
			_, stop := keepBeating(ctx, every, asked, true, func() error {
				began = append(began, time.Since(start))
				return sleep(ctx, every/2)
			})
			defer stop()
			if err := sleep(ctx, 5*every/2+every/4); err != nil {
				return err
			}
			nudge(asked)
			return sleep(ctx, 3*every/2)
		}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		env.RegisterActivity(activity)
		_, err := env.ExecuteActivity(activity)
		require.NoError(t, err)
		require.Equal(t, []time.Duration{0, every, 2 * every, 11 * every / 4, 15 * every / 4}, began)
	})
}

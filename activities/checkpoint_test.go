package activities

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
)

// seen is what an activity finds of the tries before it.
type seen struct {
	Found    bool
	At       int
	FirstRun string
	Key      string
}

func look(ctx context.Context) (s seen, err error) {
	var at int
	s.Found, err = Checkpoint(ctx, &at)
	s.At, s.FirstRun, s.Key = at, FirstRun(ctx), IdempotencyKey(ctx)
	return s, err
}

func TestCheckpointTravelsInTheHeader(t *testing.T) {
	for name, c := range map[string]struct {
		handed Handed
		want   seen
	}{
		"none":        {Handed{FirstRun: "w/r", Key: "a/1"}, seen{FirstRun: "w/r", Key: "w/r/a/1"}},
		"null":        {Handed{FirstRun: "w/r", Key: "a/1", Checkpoint: []byte("null")}, seen{FirstRun: "w/r", Key: "w/r/a/1"}},
		"from before": {Handed{FirstRun: "w/r", Key: "a/1", Checkpoint: []byte("41")}, seen{true, 41, "w/r", "w/r/a/1"}},
		"no key":      {Handed{FirstRun: "w/r"}, seen{FirstRun: "w/r", Key: "w/r/a/1/2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var suite testsuite.WorkflowTestSuite
			suite.SetContextPropagators([]workflow.ContextPropagator{ContextPropagator(converter.GetDefaultDataConverter())})
			env := suite.NewTestWorkflowEnvironment()
			env.RegisterActivityWithOptions(look, activity.RegisterOptions{Name: "look"})
			env.ExecuteWorkflow(func(ctx workflow.Context) (s seen, err error) {
				options := CallOptions()
				options.ActivityID = "a/1/2" // the key does not come from it where one is handed
				ctx = WithHanded(workflow.WithActivityOptions(ctx, options), c.handed)
				return s, workflow.ExecuteActivity(ctx, "look").Get(ctx, &s)
			})
			require.NoError(t, env.GetWorkflowError())
			var got seen
			require.NoError(t, env.GetWorkflowResult(&got))
			require.Equal(t, c.want, got)
		})
	}
}

func TestHeartbeatOfThisActivityComesFirst(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(look, activity.RegisterOptions{Name: "look"})
	env.SetHeartbeatDetails(12)
	result, err := env.ExecuteActivity("look")
	require.NoError(t, err)
	var got seen
	require.NoError(t, result.Get(&got))
	require.True(t, got.Found)
	require.Equal(t, 12, got.At)
	require.NotEmpty(t, got.FirstRun)
}

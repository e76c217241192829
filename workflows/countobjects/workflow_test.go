package countobjects

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
)

func countEnvironment(t *testing.T, count func(wire.CountInput) (wire.CountReport, error)) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeCountObjects})
	env.RegisterActivityWithOptions(count, activity.RegisterOptions{Name: wire.CountEvents.Name})
	return env
}

// Each report's figures go to the next run of the activity, and a drained queue
// ends the monitor.
func TestCountObjectsCarriesItsFigures(t *testing.T) {
	var asked []wire.CountInput
	env := countEnvironment(t, func(in wire.CountInput) (wire.CountReport, error) {
		asked = append(asked, in)
		in.Figures.Events += 10
		return wire.CountReport{Figures: in.Figures, Drained: len(asked) == 3}, nil
	})
	env.ExecuteWorkflow(wire.TypeCountObjects, json.RawMessage(`{"queueUrl":"https://sqs/1/events","table":"counts","key":"prefix","prefixDepth":2}`))
	require.NoError(t, env.GetWorkflowError())
	var status Status
	require.NoError(t, env.GetWorkflowResult(&status))
	require.EqualValues(t, 30, status.Events)
	require.Equal(t, wire.StateDone, status.State)
	require.Len(t, asked, 3)
	require.EqualValues(t, 20, asked[2].Figures.Events)
	require.Equal(t, 2, asked[0].PrefixDepth)
}

func TestCountObjectsFailures(t *testing.T) {
	for document, want := range map[string]string{
		`{}`: activities.TypeInvalidInput,
		`{"queueUrl":"events","table":"t","key":"object","prefixDepth":0}`: activities.TypeInvalidInput,
		`{"queueUrl":"https://sqs/1/events","table":"gone"}`:               activities.TypeNotFound,
	} {
		env := countEnvironment(t, func(wire.CountInput) (wire.CountReport, error) {
			return wire.CountReport{}, activities.Fail(activities.TypeNotFound, activities.Failure{Message: "no table"})
		})
		env.ExecuteWorkflow(wire.TypeCountObjects, json.RawMessage(document))
		var application *temporal.ApplicationError
		require.ErrorAs(t, env.GetWorkflowError(), &application, document)
		require.Equal(t, want, application.Type(), document)
	}
}

// An attempt that fails without a message is followed by another that goes on from
// what it left, after a pause that a message cuts short.
func TestAFailedAttemptIsRepeatedFromWhatItLeft(t *testing.T) {
	var asked []wire.CountInput
	env := countEnvironment(t, func(in wire.CountInput) (wire.CountReport, error) {
		asked = append(asked, in)
		in.Figures.Messages++
		switch len(asked) {
		case 1:
			return wire.CountReport{}, temporal.NewHeartbeatTimeoutError(in.Figures)
		case 2:
			return wire.CountReport{}, activities.Fail(activities.TypeWorkerStopping, activities.Failure{Message: "as the test wants it", Checkpoint: in.Figures})
		default:
			return wire.CountReport{}, activities.Fail(activities.TypeUnavailable, activities.Failure{Message: "as the test wants it", Checkpoint: in.Figures})
		}
	})
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(wire.UpdateStop, "stop", &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(error) {}, OnComplete: func(any, error) {},
		}, json.RawMessage(`{}`))
	}, time.Hour)
	env.ExecuteWorkflow(wire.TypeCountObjects, json.RawMessage(`{"queueUrl":"https://sqs/1/events","table":"counts"}`))
	require.NoError(t, env.GetWorkflowError())
	var status Status
	require.NoError(t, env.GetWorkflowResult(&status))
	require.Equal(t, countStopped, status.State)
	require.EqualValues(t, len(asked), status.Messages)
	require.InDelta(t, 125, len(asked), 10, "half a minute apart after the first few")
}

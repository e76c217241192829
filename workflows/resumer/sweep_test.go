package resumer

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/jobchain"
	"sluice/internal/wire"
)

// sweepOf is an environment in which these requests are suspended, and what was asked.
func sweepOf(t *testing.T, ids []string, resume func(wire.ResumeInput) (*wire.Resumed, error)) (*testsuite.TestWorkflowEnvironment, *[]wire.ListSuspendedInput) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	var lists []wire.ListSuspendedInput
	var mu sync.Mutex // activities run beside each other
	env.RegisterActivityWithOptions(func(_ context.Context, in wire.ListSuspendedInput) (*wire.Suspended, error) {
		mu.Lock()
		defer mu.Unlock()
		lists = append(lists, in)
		return &wire.Suspended{IDs: ids}, nil
	}, activity.RegisterOptions{Name: wire.ListSuspended.Name})
	env.RegisterActivityWithOptions(func(_ context.Context, in wire.ResumeInput) (*wire.Resumed, error) {
		mu.Lock()
		defer mu.Unlock()
		return resume(in)
	},
		activity.RegisterOptions{Name: wire.ResumeRequest.Name})
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeResumeSuspended})
	return env, &lists
}

func resumed(wire.ResumeInput) (*wire.Resumed, error) { return &wire.Resumed{Resumed: true}, nil }

// One that can't be resumed is told with its reason and stops no other.
func TestWhatBecomesOfEachRequestIsToldApart(t *testing.T) {
	env, lists := sweepOf(t, []string{"ok", "taken", "moved", "bad", "broken"}, func(in wire.ResumeInput) (*wire.Resumed, error) {
		switch in.ID {
		case "taken":
			return &wire.Resumed{Skipped: true, Holder: "you"}, nil
		case "moved":
			return &wire.Resumed{Skipped: true}, nil
		case "bad":
			return &wire.Resumed{Error: "no worker polls queue q"}, nil
		case "broken":
			return nil, temporal.NewNonRetryableApplicationError("lost\nthe second line", "T", nil)
		}
		return resumed(in)
	})
	env.ExecuteWorkflow(wire.TypeResumeSuspended, json.RawMessage(`{"holder":"me","filter":"SluiceType = 'x'","limit":9,"lease":"1m"}`))
	var result Result
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, []string{"ok"}, result.Resumed)
	require.ElementsMatch(t, []Skipped{{"taken", "you"}, {ID: "moved"}}, result.Skipped)
	require.Len(t, result.Failed, 2)
	require.Contains(t, []string{result.Failed[0].ID + ": " + result.Failed[0].Error, result.Failed[1].ID + ": " + result.Failed[1].Error}, result.LastError)
	for _, f := range result.Failed {
		require.NotContains(t, f.Error, "\n")
		require.NotEmpty(t, f.Error)
	}
	require.Equal(t, []wire.ListSuspendedInput{{Filter: "SluiceType = 'x'", Limit: 9}}, *lists)
}

func TestNoMoreRequestsThanAllowedAreResumedAtOnce(t *testing.T) {
	for _, most := range []int{1, 3} {
		env, _ := sweepOf(t, strings.Split("abcdefghij", ""), nil)
		running, highest := 0, 0
		env.OnActivity(wire.ResumeRequest.Name, mock.Anything, mock.Anything).Return(&wire.Resumed{Resumed: true}, nil).After(time.Second)
		env.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) {
			if info.ActivityType.Name == wire.ResumeRequest.Name {
				running++
				highest = max(highest, running)
			}
		})
		env.SetOnActivityCompletedListener(func(info *activity.Info, _ converter.EncodedValue, _ error) {
			if info.ActivityType.Name == wire.ResumeRequest.Name {
				running--
			}
		})
		raw, err := json.Marshal(map[string]any{"maxParallel": most})
		require.NoError(t, err)
		env.ExecuteWorkflow(wire.TypeResumeSuspended, json.RawMessage(raw))
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, most, highest)
	}
}

// The holder is the sweep's own run where none is given; all of its requests have the
// same, also in the runs that it goes on as.
func TestTheHolderOfASweepIsCarried(t *testing.T) {
	var holders []string
	note := func(in wire.ResumeInput) (*wire.Resumed, error) {
		holders = append(holders, in.Holder)
		return resumed(in)
	}
	env, _ := sweepOf(t, []string{"a", "b"}, note)
	env.ExecuteWorkflow(wire.TypeResumeSuspended, json.RawMessage(`{"maxParallel":1}`))
	require.NoError(t, env.GetWorkflowError())
	require.Len(t, holders, 2)
	require.Equal(t, holders[0], holders[1])
	require.Contains(t, holders[0], "/")

	holders = nil
	env, lists := sweepOf(t, []string{"never listed"}, note)
	raw, err := json.Marshal(continued{defaultInput(), &carried{
		Holder: "first/run", Total: 3, Waiting: []string{"b", "c"}, Bytes: 50,
		Result: Result{Resumed: []string{"a"}, Skipped: []Skipped{}, Failed: []Failed{}},
	}})
	require.NoError(t, err)
	env.SetContinuedExecutionRunID("the run before")
	env.ExecuteWorkflow(wire.TypeResumeSuspended, json.RawMessage(raw))
	var result Result
	require.NoError(t, env.GetWorkflowResult(&result))
	require.ElementsMatch(t, []string{"a", "b", "c"}, result.Resumed)
	require.Equal(t, []string{"first/run", "first/run"}, holders)
	require.Empty(t, *lists)
}

func TestALongSweepGoesOnAsAnotherWithWhatWaits(t *testing.T) {
	env, _ := sweepOf(t, []string{"a", "b"}, resumed)
	env.SetContinueAsNewSuggested(true)
	env.ExecuteWorkflow(wire.TypeResumeSuspended, json.RawMessage(`{"holder":"me","limit":7}`))
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	var raw json.RawMessage
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &raw))
	var in continued
	require.NoError(t, json.Unmarshal(raw, &in))
	require.Equal(t, 7, in.Limit)
	require.Equal(t, "me", in.Carried.Holder)
	require.Equal(t, 2, in.Carried.Total)
	require.ElementsMatch(t, []string{"a", "b"}, in.Carried.Waiting)
}

// The signal stop ends the sweep between two requests: what is under way is waited for.
func TestAStoppedSweepEndsBetweenTwoRequests(t *testing.T) {
	env, _ := sweepOf(t, []string{"a", "b", "c"}, nil)
	env.OnActivity(wire.ResumeRequest.Name, mock.Anything, mock.Anything).Return(&wire.Resumed{Resumed: true}, nil).After(time.Minute)
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(wire.SignalStop, json.RawMessage(`{}`)) }, 30*time.Second)
	env.ExecuteWorkflow(wire.TypeResumeSuspended, json.RawMessage(`{"maxParallel":1}`))
	var result Result
	require.NoError(t, env.GetWorkflowResult(&result))
	require.Equal(t, []string{"a"}, result.Resumed)
	value, err := env.QueryWorkflow(wire.QueryStatus)
	require.NoError(t, err)
	var status Status
	require.NoError(t, value.Get(&status))
	require.Equal(t, wire.StateDone, status.State)
	require.Equal(t, 2, status.Waiting)
	require.Equal(t, 3, status.Total)
	require.Zero(t, status.Running)
}

func TestAListThatFailsFailsTheSweep(t *testing.T) {
	env, _ := sweepOf(t, nil, resumed)
	env.OnActivity(wire.ListSuspended.Name, mock.Anything, mock.Anything).Return(nil, temporal.NewNonRetryableApplicationError("invalid query", "InvalidInput", nil))
	env.ExecuteWorkflow(wire.TypeResumeSuspended, json.RawMessage(`{"filter":"x ="}`))
	var application *temporal.ApplicationError
	require.True(t, errors.As(env.GetWorkflowError(), &application))
	require.Equal(t, "InvalidInput", application.Type())
}

func TestInputOfASweepIsCheckedWhole(t *testing.T) {
	require.NoError(t, CheckInput("w", json.RawMessage(`{}`)))
	err := CheckInput("w", json.RawMessage(`{"maxParallel":101,"lease":"0s","limit":-1,"Filter":""}`))
	for _, path := range []string{"maxParallel: ", "lease: ", "limit: ", "Filter: unknown field"} {
		require.ErrorContains(t, err, path)
	}
}

func TestAHolderOfALongIDKeepsItsRunAndIsText(t *testing.T) {
	info := &workflow.Info{FirstRunID: "run-1"}
	info.WorkflowExecution.ID = strings.Repeat("€", 900)
	holder := ownHolder(info)
	require.LessOrEqual(t, len(holder), jobchain.MaxHolder)
	require.True(t, strings.HasSuffix(holder, "€/run-1"))
	info.WorkflowExecution.ID = "short"
	require.Equal(t, "short/run-1", ownHolder(info))
}

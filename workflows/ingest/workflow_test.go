package ingest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
)

// world is what an ingestion meets: each activity's answer can be changed.
type world struct {
	*testsuite.TestWorkflowEnvironment
	summaries, left int
	fails           map[string]error // by the activity's name, for ever
	summary         wire.IngestSummary
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	w := &world{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), fails: map[string]error{}}
	w.SetTestTimeout(time.Minute)
	w.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeIngest})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ json.RawMessage) error {
		return workflow.Sleep(ctx, 5*time.Second)
	}, workflow.RegisterOptions{Name: wire.TypeClaimTasks})
	w.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ json.RawMessage) error {
		return workflow.Sleep(ctx, 10*time.Second)
	}, workflow.RegisterOptions{Name: wire.TypeQuiescence})
	register(w, wire.IngestPrepare, func() wire.IngestPrepared { return wire.IngestPrepared{Objects: 2} })
	register(w, wire.IngestJoinCount, func() wire.None { return wire.None{} })
	register(w, wire.IngestLeaveCount, func() wire.None { w.left++; return wire.None{} })
	register(w, wire.IngestEnqueue, func() wire.None { return wire.None{} })
	register(w, wire.IngestAwaitTasks, func() wire.IngestTasks { return wire.IngestTasks{Ended: 2, Total: 2} })
	register(w, wire.IngestSummarise, func() wire.IngestSummary { w.summaries++; return w.summary })
	register(w, wire.TemporalTell, func() wire.None { return wire.None{} })
	w.OnUpsertTypedSearchAttributes(mock.Anything).Return(nil).Maybe()
	return w
}

func register[In, Out any](w *world, a wire.Activity[In, Out], answer func() Out) {
	w.RegisterActivityWithOptions(func(In) (Out, error) {
		if err := w.fails[a.Name]; err != nil {
			var none Out
			return none, err
		}
		return answer(), nil
	}, activity.RegisterOptions{Name: a.Name})
}

func (w *world) run(deadline string) {
	w.ExecuteWorkflow(wire.TypeIngest, json.RawMessage(`{"bucket":"b","queue":"tasks","stream":"s","table":"t",
		"delivery":{"bucket":"d","notifications":"http://q/1/n"},"deadline":"`+deadline+`"}`))
}

// Whatever fails for ever, the run ends soon after its deadline, and has left the
// counter.
func TestIngestEndsByItsDeadlineWhateverFails(t *testing.T) {
	for _, name := range []string{
		"", wire.IngestPrepare.Name, wire.IngestJoinCount.Name, wire.IngestEnqueue.Name, wire.IngestAwaitTasks.Name,
		wire.IngestSummarise.Name, wire.TemporalTell.Name, wire.IngestLeaveCount.Name,
	} {
		t.Run("fails: "+name, func(t *testing.T) {
			w := newWorld(t)
			w.summary = wire.IngestSummary{Records: 2, Delivered: 1, Missing: 1}
			w.fails[name] = activities.Fail(activities.TypeUnavailable, activities.Failure{Message: "it is away"})
			began := w.Now()
			w.run("75s")
			require.True(t, w.IsWorkflowCompleted())
			require.Less(t, w.Now().Sub(began), 75*time.Second+leastGrace+3*endingTime)
			if name != wire.IngestPrepare.Name && name != wire.IngestLeaveCount.Name {
				require.Equal(t, 1, w.left)
			}
			switch name {
			case wire.IngestPrepare.Name, wire.IngestJoinCount.Name, wire.IngestSummarise.Name:
				require.Error(t, w.GetWorkflowError())
			default:
				require.NoError(t, w.GetWorkflowError())
				require.Positive(t, w.summaries, "there is a report")
				var result Result
				require.NoError(t, w.GetWorkflowResult(&result))
				if name == wire.IngestEnqueue.Name || name == wire.IngestAwaitTasks.Name {
					require.Contains(t, result.LastError, "it is away", "what failed on the way is told")
				}
			}
		})
	}
}

// Records of objects that nobody can read are not waited for.
func TestIngestDoesNotWaitForWhatIsLost(t *testing.T) {
	w := newWorld(t)
	w.summary = wire.IngestSummary{Records: 3, Delivered: 1, Missing: 2, Unreadable: 1, Lost: 2}
	w.run("2h")
	require.NoError(t, w.GetWorkflowError())
	require.Equal(t, 1, w.summaries)
}

// Without a deadline and with a record that stays missing the history stays short:
// the run goes on as another, where it was.
func TestIngestContinuesAsNewBetweenGenerations(t *testing.T) {
	w := newWorld(t)
	w.summary = wire.IngestSummary{Records: 2, Delivered: 1, Missing: 1}
	w.SetContinueAsNewSuggested(true)
	w.run("")
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.GetWorkflowError(), &next)
	require.Zero(t, w.left, "the counter is needed on")
	var raw json.RawMessage
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &raw))

	then := newWorld(t)
	then.summary = wire.IngestSummary{Records: 2, Delivered: 2}
	for _, done := range []string{wire.IngestPrepare.Name, wire.IngestEnqueue.Name, wire.IngestAwaitTasks.Name} {
		then.fails[done] = activities.Fail(activities.TypeConflict, activities.Failure{Message: "it was done"})
	}
	then.SetContinuedExecutionRunID("the run before")
	then.ExecuteWorkflow(wire.TypeIngest, raw)
	require.NoError(t, then.GetWorkflowError())
	var result Result
	require.NoError(t, then.GetWorkflowResult(&result))
	require.EqualValues(t, 2, result.Objects)
	require.EqualValues(t, 2, result.Tasks)
	require.Equal(t, 1, then.left)
}

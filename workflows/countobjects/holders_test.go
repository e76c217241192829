package countobjects

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
)

const countDocument = `{"queueUrl":"https://sqs/1/events","table":"counts"}`

// sent is what became of an update.
type sent struct {
	refused, failed error
	answer          any
}

// sendAfter sends an update some time into the run.
func sendAfter(env *testsuite.TestWorkflowEnvironment, after time.Duration, name, document string) *sent {
	s := &sent{}
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(name, name+after.String(), &testsuite.TestUpdateCallback{
			OnAccept: func() {}, OnReject: func(err error) { s.refused = err },
			OnComplete: func(answer any, err error) { s.answer, s.failed = answer, err },
		}, json.RawMessage(document))
	}, after)
	return s
}

// counting is an environment whose activity reports an event an hour, for ever.
func counting(t *testing.T, byIngestion bool) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	env := countEnvironment(t, func(in wire.CountInput) (wire.CountReport, error) {
		return wire.CountReport{Figures: in.Figures, Drained: in.Drain}, nil
	})
	env.OnActivity(wire.CountEvents.Name, mock.Anything).Return(func(in wire.CountInput) (wire.CountReport, error) {
		in.Figures.Events++
		return wire.CountReport{Figures: in.Figures, Drained: in.Drain}, nil
	}).After(time.Hour)
	if byIngestion {
		require.NoError(t, env.SetMemoOnStart(map[string]any{wire.MemoStartedBy: "w/run"}))
	}
	return env
}

func endedWith(t *testing.T, env *testsuite.TestWorkflowEnvironment) Status {
	t.Helper()
	env.ExecuteWorkflow(wire.TypeCountObjects, json.RawMessage(countDocument))
	require.NoError(t, env.GetWorkflowError())
	var status Status
	require.NoError(t, env.GetWorkflowResult(&status))
	return status
}

// A counter that an ingestion started ends with the last that has joined it, however
// often each has joined or left.
func TestACounterOfIngestionsEndsWithTheLast(t *testing.T) {
	env := counting(t, true)
	var all []*sent
	for n, message := range []struct{ name, holder string }{
		{wire.UpdateJoin, "a"}, {wire.UpdateJoin, "a"}, {wire.UpdateJoin, "b"},
		{wire.UpdateLeave, "stranger"}, {wire.UpdateLeave, "a"}, {wire.UpdateLeave, "a"}, {wire.UpdateLeave, "b"},
	} {
		all = append(all, sendAfter(env, time.Duration(n+1)*24*time.Hour, message.name, `{"holder":"`+message.holder+`"}`))
	}
	began := env.Now()
	status := endedWith(t, env)
	require.Equal(t, countStopped, status.State)
	require.GreaterOrEqual(t, env.Now().Sub(began), 7*24*time.Hour, "not before the last")
	for n, holders := range [][]string{{"a"}, {"a"}, {"a", "b"}, {"a", "b"}, {"b"}, {"b"}, {}} {
		require.NoError(t, all[n].refused)
		require.NoError(t, all[n].failed)
		require.ElementsMatch(t, holders, all[n].answer.(wire.CountHolders).Holders, "message %d", n)
	}
}

func TestACounterThatSomebodyElseStartedGoesOnWithoutIngestions(t *testing.T) {
	env := counting(t, false)
	sendAfter(env, time.Hour, wire.UpdateJoin, `{"holder":"a"}`)
	sendAfter(env, 2*time.Hour, wire.UpdateLeave, `{"holder":"a"}`)
	sendAfter(env, 100*time.Hour, wire.UpdateStop, `{}`)
	began := env.Now()
	endedWith(t, env)
	require.GreaterOrEqual(t, env.Now().Sub(began), 100*time.Hour)
}

func TestACounterThatIsAboutToEndIsNotJoined(t *testing.T) {
	env := counting(t, false)
	sendAfter(env, 10*time.Minute, wire.UpdateDrain, `{"wait":"1s"}`)
	late := sendAfter(env, 10*time.Minute+time.Second, wire.UpdateJoin, `{"holder":"late"}`)
	wrong := sendAfter(env, 5*time.Minute, wire.UpdateJoin, `{}`)
	long := sendAfter(env, 5*time.Minute, wire.UpdateDrain, `{"wait":"2m"}`)
	status := endedWith(t, env)
	require.Equal(t, wire.StateDone, status.State)
	require.Equal(t, activities.TypeConflict, activities.TypeOf(late.refused))
	require.ErrorContains(t, wrong.refused, "holder: required")
	require.ErrorContains(t, long.refused, "wait: ")
}

func TestACounterTakesOnlySoManyIngestions(t *testing.T) {
	env := counting(t, true)
	var holders []string
	for n := range mostHolders {
		holders = append(holders, fmt.Sprint(n))
	}
	more := sendAfter(env, time.Hour, wire.UpdateJoin, `{"holder":"one more"}`)
	sendAfter(env, 2*time.Hour, wire.UpdateLeave, `{"holder":"7"}`)
	again := sendAfter(env, 3*time.Hour, wire.UpdateJoin, `{"holder":"one more"}`)
	sendAfter(env, 4*time.Hour, wire.UpdateStop, `{}`)
	raw, err := json.Marshal(continued{
		Input{QueueURL: "https://sqs/1/events", Table: "counts", Key: byBucket, PrefixDepth: 1},
		&carried{State: countOpen, Holders: holders, Figures: wire.CountFigures{Events: 40}},
	})
	require.NoError(t, err)
	env.SetContinuedExecutionRunID("the run before")
	env.ExecuteWorkflow(wire.TypeCountObjects, json.RawMessage(raw))
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, activities.TypeConflict, activities.TypeOf(more.refused))
	require.NoError(t, again.refused)
	var status Status
	require.NoError(t, env.GetWorkflowResult(&status))
	require.Greater(t, status.Events, int64(40), "figures of the run before are carried")
}

// What another run goes on with: figures, state and who has joined.
func TestACounterGoesOnAsAnotherRunWithItsHolders(t *testing.T) {
	env := counting(t, true)
	sendAfter(env, time.Minute, wire.UpdateJoin, `{"holder":"a"}`)
	env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 90*time.Minute)
	env.ExecuteWorkflow(wire.TypeCountObjects, json.RawMessage(countDocument))
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, env.GetWorkflowError(), &next)
	var raw json.RawMessage
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &raw))
	var in continued
	require.NoError(t, json.Unmarshal(raw, &in))
	require.Equal(t, []string{"a"}, in.Carried.Holders)
	require.Equal(t, countOpen, in.Carried.State)
	require.EqualValues(t, 2, in.Carried.Figures.Events)
	require.Equal(t, "counts", in.Table)
}

func TestInputOfACounterIsCheckedWhole(t *testing.T) {
	id := wire.CountID("https://sqs/1/events")
	require.NoError(t, CheckInput(id, json.RawMessage(countDocument)))
	err := CheckInput(id, json.RawMessage(`{"queueUrl":"events","table":"","key":"object","prefixDepth":101}`))
	for _, path := range []string{`queueUrl: "events" is no URL`, "table: empty", `key: "object"`, "prefixDepth: 101"} {
		require.ErrorContains(t, err, path)
	}
	require.Equal(t, 0, (&Input{Key: byBucket, PrefixDepth: 3}).depth())
	require.Equal(t, 3, (&Input{Key: byPrefix, PrefixDepth: 3}).depth())
}

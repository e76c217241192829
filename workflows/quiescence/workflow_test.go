package quiescence

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

var quietStart = time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)

func quietEnvironment(t *testing.T) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartTime(quietStart)
	env.SetTestTimeout(time.Minute)
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeQuiescence})
	env.RegisterActivityWithOptions(func(wire.TriggerInput) error { return nil }, activity.RegisterOptions{Name: wire.HTTPTrigger.Name})
	return env
}

func quietRun(t *testing.T, env *testsuite.TestWorkflowEnvironment, document string) Result {
	t.Helper()
	env.ExecuteWorkflow(wire.TypeQuiescence, json.RawMessage(document))
	require.True(t, env.IsWorkflowCompleted())
	require.NoError(t, env.GetWorkflowError())
	var result Result
	require.NoError(t, env.GetWorkflowResult(&result))
	return result
}

// signalAt sends `observed` so long after the start.
func signalAt(env *testsuite.TestWorkflowEnvironment, after time.Duration, payload string) {
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(wire.SignalObserved, json.RawMessage(payload)) }, after)
}

type updateAnswer struct {
	status   Status
	rejected error
	err      error
}

func updateAt(env *testsuite.TestWorkflowEnvironment, after time.Duration, name, input string) *updateAnswer {
	answer := &updateAnswer{}
	env.RegisterDelayedCallback(func() { answer.of(env, name, input) }, after)
	return answer
}

// of sends an update now.
func (a *updateAnswer) of(env *testsuite.TestWorkflowEnvironment, name, input string) {
	env.UpdateWorkflow(name, fmt.Sprintf("%s-%p", name, a), &testsuite.TestUpdateCallback{
		OnAccept: func() {},
		OnReject: func(err error) { a.rejected = err },
		OnComplete: func(v any, err error) {
			a.err = err
			if s, ok := v.(Status); ok {
				a.status = s
			}
		},
	}, json.RawMessage(input))
}

const told = `{"source":{"signal":{}}%s}`

func TestSignalSourceFallsQuietAfterTheLastChange(t *testing.T) {
	for _, c := range []struct {
		rule    string
		changes []time.Duration // seconds
		want    time.Duration   // after the start
	}{
		{`,"minRecords":0`, nil, 150 * time.Second},
		{``, []time.Duration{30 * time.Second}, 180 * time.Second},
		{``, []time.Duration{30 * time.Second, 179 * time.Second}, 329 * time.Second},
		{`,"repeats":2`, []time.Duration{10 * time.Second, 60 * time.Second, 65 * time.Second}, 125 * time.Second},
		{`,"delay":{"strategy":"inverse"}`, []time.Duration{10 * time.Second}, 102 * time.Second},
		{`,"delay":{"strategy":"exponential"}`, []time.Duration{10 * time.Second}, 60 * time.Second},
		{`,"delay":{"strategy":"exponential"},"quietFor":"5m"`, []time.Duration{10 * time.Second}, 310 * time.Second},
		{`,"minRecords":3`, []time.Duration{1 * time.Second, 200 * time.Second, 400 * time.Second}, 550 * time.Second},
	} {
		env := quietEnvironment(t)
		for _, at := range c.changes {
			signalAt(env, at, `{"count":1}`)
		}
		r := quietRun(t, env, fmt.Sprintf(told, c.rule))
		require.Equal(t, quiescence.ReasonQuiet, r.Reason)
		require.Equalf(t, c.want, r.FinishedAt.Sub(quietStart), "%s %v", c.rule, c.changes)
		require.EqualValues(t, len(c.changes), r.Count)
		require.Equal(t, 1, r.Generation)
		require.False(t, r.Late)
	}
}

func TestSignalSourceEnds(t *testing.T) {
	for _, c := range []struct {
		rule, reason string
		want         time.Duration
	}{
		{`,"startTimeout":"1m"`, quiescence.ReasonNotStarted, time.Minute},
		{`,"deadline":"2m"`, quiescence.ReasonDeadline, 2 * time.Minute},
		{`,"deadline":"2026-01-02T03:05:00Z"`, quiescence.ReasonDeadline, 5 * time.Minute},
		{`,"startTimeout":"10m","deadline":"20m"`, quiescence.ReasonNotStarted, 10 * time.Minute},
	} {
		r := quietRun(t, quietEnvironment(t), fmt.Sprintf(told, c.rule))
		require.Equal(t, c.reason, r.Reason)
		require.Equal(t, c.want, r.FinishedAt.Sub(quietStart))
		require.Nil(t, r.FirstAt)
	}
	env := quietEnvironment(t)
	signalAt(env, 10*time.Second, `{"total":9}`)
	signalAt(env, 20*time.Second, `{"total":10}`)
	r := quietRun(t, env, fmt.Sprintf(told, `,"expected":10`))
	require.Equal(t, quiescence.ReasonExpected, r.Reason)
	require.Equal(t, 20*time.Second, r.FinishedAt.Sub(quietStart))
}

// A total that is told twice is no change, and what can't be read is ignored.
func TestSignalsThatSayNothingNew(t *testing.T) {
	env := quietEnvironment(t)
	signalAt(env, 10*time.Second, `{"total":5}`)
	for i, payload := range []string{`{"total":5}`, `{"count":0}`, `{"count":-1}`, `{"count":1,"total":1}`, `{}`, `{"sum":3}`, `"text"`, `7`} {
		signalAt(env, time.Duration(20+i)*time.Second, payload)
	}
	r := quietRun(t, env, fmt.Sprintf(told, ""))
	require.Equal(t, 160*time.Second, r.FinishedAt.Sub(quietStart))
	require.EqualValues(t, 5, r.Count)
}

func TestTuneFinishAndStop(t *testing.T) {
	env := quietEnvironment(t)
	signalAt(env, 10*time.Second, `{"count":1}`)
	wrong := updateAt(env, 15*time.Second, wire.UpdateTune, `{"repeats":-1,"speed":3}`)
	tuned := updateAt(env, 20*time.Second, wire.UpdateTune, `{"repeats":2,"delay":{"base":"10s"}}`)
	r := quietRun(t, env, fmt.Sprintf(told, ""))
	require.ErrorContains(t, wrong.rejected, "speed: unknown field")
	require.ErrorContains(t, wrong.rejected, "repeats: -1")
	require.NoError(t, tuned.err)
	require.Equal(t, 2, tuned.status.RepeatsNeeded)
	require.Equal(t, quiescence.ReasonQuiet, r.Reason)
	require.Equal(t, 30*time.Second, r.FinishedAt.Sub(quietStart))

	for name, reason := range map[string]string{wire.UpdateFinish: quiescence.ReasonForced, wire.UpdateStop: quiescence.ReasonStopped} {
		env := quietEnvironment(t)
		answer := updateAt(env, 20*time.Second, name, `{"reason":"all producers are done"}`)
		r := quietRun(t, env, fmt.Sprintf(told, ""))
		require.NoError(t, answer.err)
		require.Equal(t, quiescence.Done, answer.status.Phase)
		require.Equal(t, reason, answer.status.Result.Reason)
		require.Equal(t, reason, r.Reason)
		require.Equal(t, "all producers are done", r.Note)
		require.Equal(t, 20*time.Second, r.FinishedAt.Sub(quietStart))
	}
}

// A deadline that is tuned as a length counts from the message.
func TestTuneDeadline(t *testing.T) {
	env := quietEnvironment(t)
	updateAt(env, 5*time.Minute, wire.UpdateTune, `{"deadline":"1m"}`)
	r := quietRun(t, env, fmt.Sprintf(told, `,"deadline":"1h"`))
	require.Equal(t, quiescence.ReasonDeadline, r.Reason)
	require.Equal(t, 6*time.Minute, r.FinishedAt.Sub(quietStart))
}

func TestQuiescenceInputFaults(t *testing.T) {
	env := quietEnvironment(t)
	env.ExecuteWorkflow(wire.TypeQuiescence, json.RawMessage(`{"source":{"sqs":{"queueUrl":"u"}},"repeats":"5","delay":{"base":30},"expected":3,
		"minRecords":-1,"late":{"watch":60},"then":[{"http":{"url":"http://user:pw@x/"}},{"on":["never"],"signal":{"workflowId":"w","name":"n"}},{}],"speed":1}`))
	err := env.GetWorkflowError()
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.Equal(t, activities.TypeInvalidInput, application.Type())
	require.True(t, application.NonRetryable())
	for _, want := range []string{"repeats: a string where an integer", `delay.base: a duration is a string with a unit; write "30s"`, "expected: a backlog",
		"minRecords: -1", `write "60s"`, "then[0].http.url: holds user info", `then[1].on[0]: "never"`, "then[2]: exactly one of", "speed: unknown field"} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "pw@")
}

// No fault hides another: two sources, a wrong onDelete, wrong entries of `then`
// and names that nothing can be called by are told in one message.
func TestQuiescenceTellsAllFaultsAtOnce(t *testing.T) {
	env := quietEnvironment(t)
	env.ExecuteWorkflow(wire.TypeQuiescence, json.RawMessage(`{
		"source":{"s3":{"bucket":"","onDelete":"maybe"},"sqs":{},"dynamodb":{"table":"t","key":7}},
		"repeats":-1,
		"then":[
			{"http":{"url":"nowhere","method":7,"auth":"Bearer s3cret"},"signal":{"workflowId":"","name":""}},
			{"http":{"url":"http://x/","method":"FETCH","speed":1},"on":["never",5]},
			{"activity":{"name":""}},
			{"workflow":{"type":""}},
			{"queue":{}}]}`))
	err := env.GetWorkflowError()
	for _, want := range []string{
		"source: exactly one of dynamodb, s3, sqs, activity, signal, not 3", "source.s3.bucket: empty", `source.s3.onDelete: "maybe" is none of`,
		"source.sqs.queueUrl: required", "source.dynamodb.key: not a key", "repeats: -1",
		"then[0]: exactly one of http, workflow, activity, signal, not 2", "then[0].http.url: not an http", "then[0].http.method: the number 7",
		"then[0].http.auth: not the name of credentials", "then[0].signal.workflowId: empty", "then[0].signal.name: empty",
		`then[1].http.method: "FETCH" is none of`, "then[1].http.speed: unknown field", `then[1].on[0]: "never" is none of`, "then[1].on[1]: the number 5",
		"then[2].activity.name: empty", "then[3].workflow.type: empty", "then[4].queue: unknown field",
	} {
		require.ErrorContains(t, err, want)
	}
	require.NotContains(t, err.Error(), "s3cret")
	require.NotContains(t, err.Error(), `then[1].on[1]: ""`, "each fault once")
}

// A run that goes on from what another carried is where that one was.
func TestQuiescenceGoesOnFromWhatWasCarried(t *testing.T) {
	var whole, cut Result
	{
		env := quietEnvironment(t)
		signalAt(env, 10*time.Second, `{"total":4}`)
		signalAt(env, 70*time.Second, `{"total":7}`)
		whole = quietRun(t, env, fmt.Sprintf(told, `,"deadline":"1h"`))
	}
	in := defaultInput()
	require.NoError(t, shell.Decode(wire.TypeQuiescence, json.RawMessage(fmt.Sprintf(told, `,"deadline":"1h"`)), &in))
	in.fix(quietStart)
	state := quiescence.State{}
	state.Observe(in.rule(quietStart), quiescence.Reading{Version: "0"}, quietStart, quietStart)
	first := quietStart.Add(10 * time.Second)
	state.Observe(in.rule(quietStart), quiescence.Reading{Version: "4", Count: 4, Present: true}, first, first)
	raw, err := json.Marshal(continued{in, &carried{State: state, Total: 4}})
	require.NoError(t, err)
	env := quietEnvironment(t)
	env.SetContinuedExecutionRunID("the run before")
	env.SetStartTime(quietStart.Add(40 * time.Second))
	signalAt(env, 30*time.Second, `{"total":7}`)
	cut = quietRun(t, env, string(raw))
	whole.Polls, cut.Polls = 0, 0 // the test's state skipped the ticks before the first signal
	require.Equal(t, whole, cut)
}

// The polling activity's reports drive the phases, and its failure with a type of
// ours ends the watch with that type.
func TestPolledSource(t *testing.T) {
	const document = `{"source":{"s3":{"bucket":"landing"}}}`
	env := quietEnvironment(t)
	var asked []wire.WatchInput
	env.RegisterActivityWithOptions(func(in wire.WatchInput) (wire.WatchReport, error) {
		asked = append(asked, in)
		now := quietStart.Add(time.Duration(len(asked)) * time.Minute)
		in.State.Observe(in.Rule, quiescence.Reading{Version: "v", Count: 2, Present: true}, now, now)
		return wire.WatchReport{State: in.State, Reason: in.State.Decide(in.Rule, now), At: now}, nil
	}, activity.RegisterOptions{Name: wire.WatchQuiescence.Name})
	r := quietRun(t, env, document)
	require.Len(t, asked, 6)
	require.Equal(t, quiescence.ReasonQuiet, r.Reason)
	require.EqualValues(t, 6, r.Polls)
	require.Equal(t, 4, asked[5].State.Repeats)

	env = quietEnvironment(t)
	env.RegisterActivityWithOptions(func(wire.WatchInput) (wire.WatchReport, error) {
		return wire.WatchReport{}, activities.Fail(activities.TypeConflict, activities.Failure{Message: "objects that were there are gone"})
	}, activity.RegisterOptions{Name: wire.WatchQuiescence.Name})
	env.ExecuteWorkflow(wire.TypeQuiescence, json.RawMessage(document))
	var application *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &application)
	require.Equal(t, activities.TypeConflict, application.Type())
}

// A cancel makes the timer of the signal source ring at once, again and again: a
// watch that went on listening would never end its task.
func TestQuiescenceOfSignalsEndsWhenItIsCancelled(t *testing.T) {
	env := quietEnvironment(t)
	signalAt(env, 10*time.Second, `{"count":1}`)
	env.RegisterDelayedCallback(env.CancelWorkflow, 15*time.Second)
	env.ExecuteWorkflow(wire.TypeQuiescence, json.RawMessage(fmt.Sprintf(told, "")))
	require.True(t, env.IsWorkflowCompleted())
	var canceled *temporal.CanceledError
	require.ErrorAs(t, env.GetWorkflowError(), &canceled)
}

// TestAWatchKeepsNoMoreThanAThousandBytesOfAReason: it is part of the result.
func TestAWatchKeepsNoMoreThanAThousandBytesOfAReason(t *testing.T) {
	env := quietEnvironment(t)
	updateAt(env, time.Second, wire.UpdateStop, `{"reason":"`+strings.Repeat("€", 1000)+`"}`)
	require.Equal(t, strings.Repeat("€", 332)+"…", quietRun(t, env, fmt.Sprintf(told, "")).Note)
}

// A correction that came in the same workflow task as the number that was waited for
// undid that it had been reached.
func TestWhatIsExpectedIsReachedThoughACorrectionComesAtOnce(t *testing.T) {
	env := quietEnvironment(t)
	env.RegisterDelayedCallback(func() {
		env.SignalWorkflow(wire.SignalObserved, json.RawMessage(`{"total":10}`))
		env.SignalWorkflow(wire.SignalObserved, json.RawMessage(`{"total":9}`))
	}, 0) // before its first task
	r := quietRun(t, env, `{"source":{"signal":{}},"expected":10,"repeats":100,"delay":{"base":"1h"}}`)
	require.Equal(t, "expected", r.Reason)
	require.EqualValues(t, 10, r.Count)
}

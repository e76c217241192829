package quiescence

import (
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	sdkpb "go.temporal.io/api/sdk/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

const everyThen = `,"then":[
	{"http":{"url":"https://example.com/hook","auth":"deploy"}},
	{"workflow":{"type":"After","id":"after","input":{"x":1}}},
	{"activity":{"name":"Tidy"}},
	{"signal":{"workflowId":"other","name":"quiet"}},
	{"activity":{"name":"Tidy","input":"late"},"on":["late"]},
	{"activity":{"name":"Tidy","input":"failed"},"on":["deadline","notStarted"]}]`

// actors registers what everyThen calls and records what reached them.
type actors struct {
	http  []wire.TriggerInput
	tidy  []string
	after []string
}

func (a *actors) register(env *testsuite.TestWorkflowEnvironment) {
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, raw json.RawMessage) error {
		a.after = append(a.after, workflow.GetInfo(ctx).WorkflowExecution.ID+" "+string(raw))
		return nil
	}, workflow.RegisterOptions{Name: "After"})
	env.RegisterActivityWithOptions(func(raw json.RawMessage) error {
		a.tidy = append(a.tidy, string(raw))
		return nil
	}, activity.RegisterOptions{Name: "Tidy"})
	env.OnActivity(wire.HTTPTrigger.Name, mock.Anything).Return(func(in wire.TriggerInput) error {
		a.http = append(a.http, in)
		return nil
	})
	env.OnSignalExternalWorkflow(mock.Anything, "other", "", "quiet", mock.Anything).Return(nil)
}

func TestThen(t *testing.T) {
	env := quietEnvironment(t)
	var a actors
	a.register(env)
	signalAt(env, time.Second, `{"count":3}`)
	r := quietRun(t, env, fmt.Sprintf(told, everyThen))
	require.Contains(t, quietDetails(t, env), "- then[0]: done", "the end of an entry is shown")
	require.NotContains(t, quietDetails(t, env), "under way")
	require.Len(t, r.Then, 4)
	for i, then := range r.Then {
		require.Equal(t, ThenResult{N: i, Generation: 1, Done: true, OK: true}, then)
	}
	id := "default-test-workflow-id"
	require.Len(t, a.http, 1)
	require.Equal(t, id+"/1/0", a.http[0].IdempotencyKey)
	require.Equal(t, "POST", a.http[0].Method)
	require.Equal(t, "deploy", a.http[0].Auth)
	require.JSONEq(t, `{"reason":"quiet","count":3,"source":{"signal":{}},"generation":1,"idempotencyKey":"`+id+`/1/0","input":null}`, string(a.http[0].Body))
	require.Equal(t, []string{`after {"x":1}`}, a.after)
	require.Len(t, a.tidy, 1)
	require.Contains(t, a.tidy[0], `"idempotencyKey":"`+id+`/1/2"`)
}

// quietDetails is what the Web UI shows.
func quietDetails(t *testing.T, env *testsuite.TestWorkflowEnvironment) string {
	t.Helper()
	value, err := env.QueryWorkflow("__temporal_workflow_metadata")
	require.NoError(t, err)
	var metadata sdkpb.WorkflowMetadata
	require.NoError(t, value.Get(&metadata))
	return metadata.GetCurrentDetails()
}

func TestThenByReason(t *testing.T) {
	for rule, ran := range map[string]int{`,"deadline":"1m"`: 1, `,"startTimeout":"1m"`: 1} {
		env := quietEnvironment(t)
		var a actors
		a.register(env)
		r := quietRun(t, env, fmt.Sprintf(told, rule+everyThen))
		require.Len(t, r.Then, ran)
		require.Equal(t, 5, r.Then[0].N)
		require.Equal(t, []string{`"failed"`}, a.tidy)
	}
	env := quietEnvironment(t)
	var a actors
	a.register(env)
	updateAt(env, time.Minute, wire.UpdateStop, `{}`)
	require.Empty(t, quietRun(t, env, fmt.Sprintf(told, everyThen)).Then)
}

func TestThenThatFailsIsTold(t *testing.T) {
	env := quietEnvironment(t)
	env.OnActivity(wire.HTTPTrigger.Name, mock.Anything).Return(temporal.NewNonRetryableApplicationError("HTTP.Trigger https://example.com:443: answered 404", activities.TypeNotFound, nil))
	env.OnSignalExternalWorkflow(mock.Anything, "gone", "", "n", mock.Anything).Return(errors.New("unknown external workflow"))
	signalAt(env, time.Second, `{"count":3}`)
	r := quietRun(t, env, fmt.Sprintf(told, `,"then":[{"http":{"url":"https://example.com/hook"}},{"signal":{"workflowId":"gone","name":"n"}}]`))
	require.Equal(t, quiescence.ReasonQuiet, r.Reason)
	require.False(t, r.Then[0].OK)
	require.Equal(t, "HTTP.Trigger https://example.com:443: answered 404", r.Then[0].Error)
	require.False(t, r.Then[1].OK)
	require.NotEmpty(t, r.Then[1].Error)
}

func TestLateData(t *testing.T) {
	env := quietEnvironment(t)
	var a actors
	a.register(env)
	signalAt(env, 10*time.Second, `{"count":1}`)
	var first Status
	env.RegisterDelayedCallback(func() {
		value, err := env.QueryWorkflow(wire.QueryStatus)
		require.NoError(t, err)
		require.NoError(t, value.Get(&first))
	}, 200*time.Second)
	signalAt(env, 300*time.Second, `{"count":2}`)
	r := quietRun(t, env, fmt.Sprintf(told, `,"late":{"watch":"10m"}`+everyThen))
	require.Equal(t, quiescence.Done, first.Phase)
	require.Equal(t, 1, first.Result.Generation, "the first result is in the status at once")
	require.False(t, first.Result.Late)
	require.Equal(t, 2, r.Generation)
	require.True(t, r.Late)
	require.EqualValues(t, 3, r.Count)
	require.Equal(t, 450*time.Second, r.FinishedAt.Sub(quietStart))
	require.Equal(t, 160*time.Second+10*time.Minute, env.Now().Sub(quietStart), "the watch ends ten minutes after the first quiet")
	var ran []int
	for _, then := range r.Then {
		require.True(t, then.OK)
		ran = append(ran, 10*then.Generation+then.N)
	}
	require.Equal(t, []int{10, 11, 12, 13, 24}, ran, "the entries of every generation")
	require.Equal(t, `"late"`, a.tidy[1])
	require.Len(t, a.http, 1, "the entries of the first quiet do not run again")
}

// A generation that is under way when the watch ends is owed its quiet.
func TestLateDataNearTheEndOfTheWatch(t *testing.T) {
	env := quietEnvironment(t)
	signalAt(env, 10*time.Second, `{"count":1}`)
	signalAt(env, 215*time.Second, `{"count":1}`)
	r := quietRun(t, env, fmt.Sprintf(told, `,"late":{"watch":"1m"}`))
	require.Equal(t, 2, r.Generation)
	require.Equal(t, 365*time.Second, r.FinishedAt.Sub(quietStart))
	require.Equal(t, r.FinishedAt, env.Now().UTC())
}

// The workflow of a later generation has an ID of its own; one without an ID is
// named by the key, which has the generation in it.
func TestThenWorkflowIDs(t *testing.T) {
	for _, c := range []struct {
		id         string
		generation int
		want       string
	}{
		{"after", 1, "after"}, {"after", 2, "after/2"}, {"after", 3, "after/3"}, {"", 1, "w/1/4"}, {"", 2, "w/2/4"},
	} {
		body := thenBody{Generation: c.generation, IdempotencyKey: idempotencyKey("w", c.generation, 4)}
		require.Equal(t, c.want, thenWorkflowID(c.id, body))
	}
}

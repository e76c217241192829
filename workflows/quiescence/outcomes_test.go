package quiescence

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/internal/limits"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// mockable registers an activity of which a test says later what it does.
func mockable(env *testsuite.TestWorkflowEnvironment, name string) {
	env.RegisterActivityWithOptions(func(json.RawMessage) error { return nil }, activity.RegisterOptions{Name: name})
}

// An entry of the first generation that failed is in the result although a later
// generation ended last.
func TestAFailedEntryOfTheFirstGenerationIsInTheLastResult(t *testing.T) {
	env := quietEnvironment(t)
	var a actors
	mockable(env, "Broken")
	a.register(env)
	env.OnActivity("Broken", mock.Anything).Return(temporal.NewNonRetryableApplicationError("no such thing", activities.TypeNotFound, nil))
	signalAt(env, 10*time.Second, `{"count":1}`)
	signalAt(env, 300*time.Second, `{"count":2}`)
	r := quietRun(t, env, fmt.Sprintf(told, `,"late":{"watch":"10m"},"then":[{"activity":{"name":"Broken"}},{"activity":{"name":"Tidy"},"on":["late"]}]`))
	require.Equal(t, 2, r.Generation)
	require.Equal(t, []ThenResult{
		{N: 0, Generation: 1, Done: true, Error: "no such thing"},
		{N: 1, Generation: 2, Done: true, OK: true},
	}, r.Then)
}

// What a run carries of its entries is bounded, and failures go last.
func TestOutcomesAreBoundedAndFailuresGoLast(t *testing.T) {
	var o outcomes
	for generation := range 10 * mostOutcomes {
		then := o.begin(ThenResult{Generation: generation + 1})
		failure := ""
		if generation%100 == 0 {
			failure = strings.Repeat("x", 10*limits.Words)
		}
		o.end(then, failure)
		o.end(then, "the first word counts")
	}
	r := o.in(Result{}, nil)
	require.Len(t, r.Then, mostOutcomes)
	require.Equal(t, 9*mostOutcomes, r.ThenOmitted)
	require.Zero(t, o.underWay)
	failed := 0
	for _, then := range r.Then {
		if !then.OK {
			failed++
		}
	}
	require.Equal(t, 10*mostOutcomes/100, failed, "all of them are told")
	for range mostOutcomes {
		o.end(o.begin(ThenResult{}), strings.Repeat("x", 10*limits.Words))
	}
	raw, err := json.Marshal(o.in(Result{}, nil))
	require.NoError(t, err)
	require.Less(t, len(raw), 240<<10)
	carried := outcomesOf(o.in(Result{}, nil))
	require.Equal(t, o, carried)
}

// A stop after a finish leaves the reason, cancels what was not delivered yet and says
// so, at once and in the result.
func TestStopAfterFinishCancelsWhatWasNotDelivered(t *testing.T) {
	env := quietEnvironment(t)
	var a actors
	mockable(env, "Slow")
	a.register(env)
	env.OnActivity("Slow", mock.Anything).After(time.Hour).Return(nil)
	signalAt(env, 10*time.Second, `{"count":1}`)
	finished := updateAt(env, 20*time.Second, wire.UpdateFinish, `{"reason":"all are done"}`)
	stopped := updateAt(env, 30*time.Second, wire.UpdateStop, `{"reason":"not so"}`)
	again := updateAt(env, 30*time.Second+time.Millisecond, wire.UpdateStop, `{}`)
	r := quietRun(t, env, fmt.Sprintf(told, `,"then":[{"activity":{"name":"Tidy"}},{"activity":{"name":"Slow"}}]`))

	require.Equal(t, quiescence.ReasonForced, finished.status.Result.Reason)
	require.Equal(t, []ThenResult{{N: 0, Generation: 1}, {N: 1, Generation: 1}}, finished.status.Result.Then, "they are about to be delivered")
	for _, result := range []Result{*stopped.status.Result, r} {
		require.Equal(t, quiescence.ReasonForced, result.Reason)
		require.Equal(t, "all are done; stopped before all that follows was delivered: not so", result.Note)
		require.Equal(t, []ThenResult{
			{N: 0, Generation: 1, Done: true, OK: true},
			{N: 1, Generation: 1, Done: true, Error: cancelledByStop},
		}, result.Then)
	}
	require.Equal(t, 30*time.Second, env.Now().Sub(quietStart), "nothing is waited for")
	require.Nil(t, again.status.Result, "there is no watch to stop any more")
}

// Messages that come before the polling activity has handed back what it saw: the
// first gives the reason, is answered at once with what it leads to, and a stop still
// cancels what would follow.
func TestMessagesAreAnsweredBeforeThePollingActivityEnds(t *testing.T) {
	for _, c := range []struct {
		messages     []string
		reason, note string
		then         []ThenResult
	}{
		{[]string{wire.UpdateFinish}, quiescence.ReasonForced, "finish", []ThenResult{{Generation: 1, Done: true, OK: true}}},
		{[]string{wire.UpdateStop}, quiescence.ReasonStopped, "stop", []ThenResult{}},
		{[]string{wire.UpdateStop, wire.UpdateFinish}, quiescence.ReasonStopped, "stop", []ThenResult{}},
		{[]string{wire.UpdateFinish, wire.UpdateStop}, quiescence.ReasonForced,
			"finish; stopped before all that follows was delivered: stop", []ThenResult{{Generation: 1, Done: true, Error: cancelledByStop}}},
	} {
		env := quietEnvironment(t)
		var a actors
		mockable(env, wire.WatchQuiescence.Name)
		a.register(env)
		env.OnActivity(wire.WatchQuiescence.Name, mock.Anything).After(time.Hour).Return(nil)
		answers, tuned := make([]updateAnswer, len(c.messages)), updateAnswer{}
		env.RegisterDelayedCallback(func() { // at once: here an activity ends as soon as it is cancelled
			for i, message := range c.messages {
				answers[i].of(env, message, `{"reason":"`+message+`"}`)
			}
			tuned.of(env, wire.UpdateTune, `{"repeats":1}`)
		}, time.Minute)
		r := quietRun(t, env, `{"source":{"s3":{"bucket":"landing"}},"then":[{"activity":{"name":"Tidy"}}]}`)
		for i, answer := range answers {
			require.NoError(t, answer.err)
			require.Equal(t, quiescence.Done, answer.status.Phase, c.messages[:i+1])
			require.Nil(t, answer.status.NextPollAt)
			require.Equal(t, answers[0].status.Result.Reason, answer.status.Result.Reason, c.messages[:i+1])
			require.Equal(t, answers[0].status.Result.FinishedAt, answer.status.Result.FinishedAt, c.messages[:i+1])
		}
		last := answers[len(answers)-1].status.Result
		require.Equal(t, c.reason, last.Reason, c.messages)
		require.Equal(t, c.note, last.Note, c.messages)
		require.Len(t, last.Then, len(c.then), c.messages)
		require.ErrorContains(t, tuned.rejected, "DONE", "what ends is not tuned")
		require.Equal(t, c.reason, r.Reason, c.messages)
		require.Equal(t, c.note, r.Note, c.messages)
		require.Equal(t, c.then, r.Then, c.messages)
	}
}

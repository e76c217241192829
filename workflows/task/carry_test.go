package task

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

func clientOptions(id string) client.StartWorkflowOptions {
	return client.StartWorkflowOptions{ID: id, TaskQueue: "sluice"}
}

// A task whose renewals have made a long history goes on in another run, with its claim
// and without the payload, which its work has. One that renews nothing does not.
func TestATaskOfALongClaimContinuesAsNew(t *testing.T) {
	f := newField(lasting(5 * time.Hour))
	f.RegisterDelayedCallback(func() { f.SetContinueAsNewSuggested(true) }, 30*time.Minute)
	_, err := f.run(t, f.input("Work", true))
	var again *workflow.ContinueAsNewError
	require.ErrorAs(t, err, &again)
	var next continued
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(again.Input, &next))
	require.Equal(t, "null", string(next.Payload))
	require.Equal(t, "a", next.TaskID)
	require.Equal(t, "claim/q", next.Claimer.WorkflowID)
	require.True(t, next.Carried.StartedAt.Equal(f.start))
	require.Positive(t, next.Carried.Reclaims)
	require.True(t, next.Carried.Lease.TakenUntil.After(f.start.Add(30*time.Minute)))
	require.Empty(t, f.told)
	require.Empty(t, f.resolved)

	f = newField(lasting(5 * time.Hour))
	f.SetContinueAsNewSuggested(true)
	status, err := f.run(t, f.input("Work", false))
	require.NoError(t, err)
	require.Equal(t, TaskCompleted, status.State)
}

// The run that goes on follows the work that an earlier one has started, starts none, and
// tells its end with the time of all runs.
func TestTheNextRunFollowsTheWork(t *testing.T) {
	for ends, want := range map[string]string{
		wire.FollowedCompleted: TaskCompleted, wire.FollowedCanceled: TaskException,
	} {
		f := newField(lasting(5 * time.Hour))
		f.follow = wire.Followed{Status: ends}
		f.SetContinuedExecutionRunID("an earlier run")
		in := f.input("Work", true)
		in.Payload = nil
		in.Carried = &carried{StartedAt: f.start.Add(-time.Hour), Reclaims: 3,
			Lease: taskclaim.Lease{TakenAt: f.start, TakenUntil: f.start.Add(20 * time.Minute)}}
		status, err := f.run(t, in)
		require.NoError(t, err, ends)
		require.Equal(t, want, status.State, ends)
		require.Equal(t, []string{"task/a/2/run"}, f.followed, ends)
		require.True(t, status.StartedAt.Equal(f.start.Add(-time.Hour)), ends)
		require.Equal(t, 3, status.Reclaims, ends)
		require.Len(t, f.told, 1, ends)
	}
}

// All faults of an input are told at once, each with its field, before any work.
func TestATaskRefusesAnInputWithAllItsFaults(t *testing.T) {
	for document, wants := range map[string][]string{
		`{}`: {"taskId: "},
		`{"taskId":"a b","runId":-1,"run":{"workflow":"` + strings.Repeat("w", 2000) + `"}}`: {"taskId: ", "runId: -1 is negative", "run.workflow: "},
		`{"taskId":"a","claim":{}}`: {"claim.service: "},
		`{"taskId":"a","nope":1}`:   {"nope: "},
	} {
		f := newField(lasting(time.Second))
		_, err := f.run(t, json.RawMessage(document))
		for _, want := range wants {
			require.ErrorContains(t, err, want, document)
		}
		require.Empty(t, f.told, document)
	}
	f := newField(lasting(time.Second))
	f.SetStartWorkflowOptions(clientOptions("task/" + strings.Repeat("i", 995)))
	_, err := f.run(t, f.input("Work", false))
	require.ErrorContains(t, err, "workflow ID")
}

// The view tells claim, state and what went wrong while the task runs and after it.
func TestTheViewOfATask(t *testing.T) {
	f := newField(lasting(30 * time.Minute))
	views := map[time.Duration]Status{}
	for _, at := range []time.Duration{time.Minute, 25 * time.Minute} {
		f.RegisterDelayedCallback(func() {
			value, err := f.QueryWorkflow(wire.QueryStatus)
			require.NoError(t, err)
			var view Status
			require.NoError(t, value.Get(&view))
			views[at] = view
		}, at)
	}
	last, err := f.run(t, f.input("Work", true))
	require.NoError(t, err)
	first, second := views[time.Minute], views[25*time.Minute]
	require.Equal(t, wire.TaskRunning, first.State)
	require.True(t, first.TakenUntil.Equal(f.start.Add(20*time.Minute)))
	require.Nil(t, first.FinishedAt)
	require.Zero(t, first.Reclaims)
	require.Equal(t, 1, second.Reclaims)
	require.True(t, second.TakenUntil.After(*first.TakenUntil))
	require.Equal(t, "q", second.Queue)
	require.Equal(t, TaskCompleted, last.State)
	require.NotNil(t, last.FinishedAt)
}

package claimtasks

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
)

// pollTakes is how long each attempt of the polling activity takes.
const pollTakes = 10 * time.Second

// claimed is a claimer in the time-skipping environment, whose polling activity ends as
// the test says.
type claimed struct {
	*testsuite.TestWorkflowEnvironment
	mu      sync.Mutex // an activity may still run when the workflow has ended
	polls   []wire.PollInput
	answers map[string]json.RawMessage // of updates, by name
	refused map[string]error
}

func newClaimed(t *testing.T, poll func(n int, in wire.PollInput) (wire.PollReport, error)) *claimed {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	c := &claimed{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), answers: map[string]json.RawMessage{}, refused: map[string]error{}}
	c.SetWorkerOptions(worker.Options{DeadlockDetectionTimeout: time.Minute}) // a busy machine is no deadlock
	c.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeClaimTasks})
	c.RegisterActivityWithOptions(func(context.Context, wire.PollInput) (wire.PollReport, error) {
		return wire.PollReport{}, nil
	}, activity.RegisterOptions{Name: wire.ClaimPoll.Name})
	c.OnActivity(wire.ClaimPoll.Name, mock.Anything, mock.Anything).After(pollTakes).Return(
		func(_ context.Context, in wire.PollInput) (wire.PollReport, error) {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.polls = append(c.polls, in)
			return poll(len(c.polls), in)
		})
	return c
}

// poll is the input of an attempt of the polling activity, from 0.
func (c *claimed) poll(n int) wire.PollInput {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.polls[n]
}

// run runs the claimer to its end.
func (c *claimed) run(t *testing.T, input string) (status Status, err error) {
	t.Helper()
	c.ExecuteWorkflow(wire.TypeClaimTasks, json.RawMessage(input))
	require.True(t, c.IsWorkflowCompleted())
	if err = c.GetWorkflowError(); err == nil {
		require.NoError(t, c.GetWorkflowResult(&status))
	}
	return status, err
}

// after sends an update when so much time has passed.
func (c *claimed) after(d time.Duration, name, input string) {
	c.RegisterDelayedCallback(func() {
		c.UpdateWorkflow(name, name, &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { c.refused[name] = err },
			OnComplete: func(answer any, err error) {
				if err != nil {
					c.refused[name] = err
					return
				}
				c.answers[name], _ = json.Marshal(answer)
			},
		}, json.RawMessage(input))
	}, d)
}

// ends signals the ends of tasks when so much time has passed.
func (c *claimed) ends(d time.Duration, tasks ...wire.FinishedTask) {
	c.RegisterDelayedCallback(func() { c.SignalWorkflow(wire.SignalFinished, wire.FinishedTasks{Tasks: tasks}) }, d)
}

// starting is an activity whose first attempt reports that tasks were started.
func starting(ids ...string) func(int, wire.PollInput) (wire.PollReport, error) {
	return func(n int, in wire.PollInput) (wire.PollReport, error) {
		r := wire.PollReport{Carry: in.Carry}
		if n == 1 {
			r.Started = startedTasks(ids...)
		}
		return r, nil
	}
}

func finished(id, state string) wire.FinishedTask {
	return wire.FinishedTask{TaskID: id, Outcome: wire.Outcome{State: state}}
}

const oneQueue = `{"queues":[{"name":"tasks"}],"maxTasks":3}`

func startedTasks(ids ...string) (tasks []wire.StartedTask) {
	for _, id := range ids {
		tasks = append(tasks, wire.StartedTask{TaskID: id})
	}
	return tasks
}

// One signal tells of many ends, before or after their starts are reported; what an
// earlier claimer of that ID started is not counted; nor is an end that is told twice.
func TestEndsThatComeInLotsAreCountedOnce(t *testing.T) {
	c := newClaimed(t, starting("a", "b", "c"))
	strange := finished("z", wire.OutcomeCompleted)
	strange.FirstRunID = "of an earlier one"
	c.ends(time.Second, finished("a", wire.OutcomeCompleted), finished("b", wire.OutcomeFailed), strange)
	c.ends(time.Minute, finished("b", wire.OutcomeFailed), finished("c", wire.OutcomeException), finished("c", wire.OutcomeException))
	status, err := c.run(t, oneQueue)
	require.NoError(t, err)
	require.Equal(t, wire.ClaimStopped, status.State)
	require.EqualValues(t, 3, status.Claimed)
	require.EqualValues(t, 3, status.Finished)
	require.EqualValues(t, 2, status.Failed)
	require.Zero(t, status.Running)
}

// The polling activity runs where access to Azure is, its tasks where their claimer is.
func TestPollingActivityIsToldWhereTasksRun(t *testing.T) {
	c := newClaimed(t, starting("a", "b", "c"))
	var queue string
	c.SetOnActivityStartedListener(func(info *activity.Info, _ context.Context, _ converter.EncodedValues) { queue = info.TaskQueue })
	c.ends(time.Minute, finished("a", wire.OutcomeCompleted), finished("b", wire.OutcomeCompleted), finished("c", wire.OutcomeCompleted))
	_, err := c.run(t, oneQueue)
	require.NoError(t, err)
	require.Equal(t, wire.AzureTaskQueue(c.poll(0).TaskQueue), queue)
	require.Equal(t, "tasks", c.poll(0).Spec.Queues[0].Name)
	require.EqualValues(t, 15, c.poll(0).Spec.MaxDequeueCount)
}

// What a lost worker knew by its last heartbeat goes into the books, and the next
// attempt goes on with what is open.
func TestLostWorkerLeavesItsTasks(t *testing.T) {
	memory := wire.PollMemory{
		Tasks:    []wire.OpenTask{{StartedTask: startedTasks("sure")[0], Sure: true}, {StartedTask: startedTasks("open")[0]}},
		Poisoned: 1, Carry: wire.PollCarry{Owed: []wire.OwedDelete{{Queue: "tasks", MessageID: "m"}}},
	}
	c := newClaimed(t, func(n int, in wire.PollInput) (wire.PollReport, error) {
		if n == 1 {
			return wire.PollReport{}, temporal.NewHeartbeatTimeoutError(memory)
		}
		if n > 2 {
			return wire.PollReport{}, nil
		}
		return wire.PollReport{Started: startedTasks("open", "third")}, nil
	})
	c.ends(time.Minute, finished("sure", wire.OutcomeCompleted), finished("open", wire.OutcomeCompleted), finished("third", wire.OutcomeCompleted))
	status, err := c.run(t, oneQueue)
	require.NoError(t, err)
	require.EqualValues(t, 3, status.Claimed)
	require.EqualValues(t, 1, status.Poisoned)
	require.Equal(t, memory.Tasks[1:], c.poll(1).Carry.Unsure)
	require.Equal(t, memory.Carry.Owed, c.poll(1).Carry.Owed)
}

// A polling activity that fails for good is started again after a while: no error of
// a worker ends the claimer.
func TestFailedPollingActivityIsStartedAgain(t *testing.T) {
	c := newClaimed(t, func(n int, _ wire.PollInput) (wire.PollReport, error) {
		if n == 1 {
			return wire.PollReport{}, activities.Fail(activities.TypeInvalidInput, activities.Failure{Message: "no such thing"})
		}
		if n > 2 {
			return wire.PollReport{}, nil
		}
		return wire.PollReport{Lost: []wire.LostTask{{TaskID: "b"}}, Started: startedTasks("a", "b", "c")}, nil
	})
	c.ends(time.Minute, finished("a", wire.OutcomeCompleted), finished("c", wire.OutcomeCompleted))
	status, err := c.run(t, oneQueue)
	require.NoError(t, err)
	require.NotEmpty(t, c.poll(1).Spec.Queues, "the second")
	require.EqualValues(t, 3, status.Finished)
	require.EqualValues(t, 1, status.Failed, "the lost one")
}

// Capacity and state reach the polling activity by its query, and messages that can't
// be carried out are refused with field and bound.
func TestUpdatesOfAClaimer(t *testing.T) {
	c := newClaimed(t, starting("a"))
	c.after(pollTakes+time.Second, wire.UpdateCapacity, `{"capacity":3}`)
	c.after(pollTakes+2*time.Second, wire.UpdateStop, `{"reason":"enough"}`)
	var control wire.ClaimControl
	c.RegisterDelayedCallback(func() {
		value, err := c.QueryWorkflow(wire.QueryClaimControl, wire.ClaimControlQuery{Tasks: true})
		require.NoError(t, err)
		require.NoError(t, value.Get(&control))
	}, time.Minute)
	c.ends(2*time.Minute, finished("a", wire.OutcomeException))
	status, err := c.run(t, `{"queues":[{"name":"tasks"}],"maxTasks":1}`)
	require.NoError(t, err)
	require.Empty(t, c.refused)
	require.Equal(t, wire.ClaimStopped, control.State)
	require.Equal(t, 3, control.Capacity)
	require.Len(t, control.Tasks, 1)
	require.Equal(t, "enough", status.Reason)
	require.Contains(t, string(c.answers[wire.UpdateCapacity]), `"capacity":3`)
}

func TestBadUpdatesOfAClaimerAreRefused(t *testing.T) {
	c := newClaimed(t, starting("a"))
	c.after(time.Second, wire.UpdateCapacity, `{"capacity":1001}`)
	c.after(time.Second, wire.UpdateDrain, `{"wait":"2m"}`)
	c.after(time.Second, wire.UpdateStop, `{"why":"x"}`)
	c.ends(time.Minute, finished("a", wire.OutcomeCompleted))
	_, err := c.run(t, `{"queues":[{"name":"tasks"}],"maxTasks":1}`)
	require.NoError(t, err)
	require.ErrorContains(t, c.refused[wire.UpdateCapacity], "1001 is not from 1 to 1000")
	require.ErrorContains(t, c.refused[wire.UpdateDrain], "longer than 1m")
	require.ErrorContains(t, c.refused[wire.UpdateStop], "why")
}

// Temporal's cancel stops the tasks first and closes the claimer Canceled, with its
// books.
func TestCancelledClaimerWaitsForItsTasks(t *testing.T) {
	c := newClaimed(t, starting("a"))
	c.RegisterDelayedCallback(c.CancelWorkflow, pollTakes+time.Second)
	c.ends(time.Minute, finished("a", wire.OutcomeException))
	_, err := c.run(t, `{"queues":[{"name":"tasks"}],"maxTasks":1}`)
	var canceled *temporal.CanceledError
	require.True(t, errors.As(err, &canceled), err)
	var status Status
	require.NoError(t, canceled.Details(&status))
	require.Equal(t, "canceled", status.Reason)
	require.EqualValues(t, 1, status.Finished)
}

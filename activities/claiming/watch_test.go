package claiming

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"

	"sluice/internal/wire"
)

// runs has the workflow run these tasks, since so long.
func runs(since time.Duration, ids ...string) wire.ClaimControl {
	c := wire.ClaimControl{State: wire.ClaimOpen, Capacity: 10, Running: len(ids)}
	for _, id := range ids {
		c.Tasks = append(c.Tasks, wire.StartedTask{TaskID: id, StartedAt: time.Now().Add(-since)})
	}
	return c
}

func lostOf(p *poller) []wire.LostTask { return p.memory().Lost }

// A task that closed is lost only if the books still have it at the next look: its
// signal may be on its way at the first.
func TestATaskThatClosedIsLostAtTheSecondLook(t *testing.T) {
	for _, c := range []struct {
		status enumspb.WorkflowExecutionStatus // 0: it is there no more
		want   string
	}{
		{enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, statusName(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED)},
		{enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, statusName(enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED)},
		{0, "NotFound"},
	} {
		server := &temporalServer{control: runs(time.Minute, "a"), tasks: map[string]enumspb.WorkflowExecutionStatus{}}
		if c.status != 0 {
			server.tasks["task/a/0"] = c.status
		}
		p := testPoller(t, server, nil, pollInput())
		p.reconcile(t.Context(), time.Now())
		require.Empty(t, lostOf(p), c.want)
		p.reconcile(t.Context(), time.Now())
		require.Equal(t, []wire.LostTask{{TaskID: "a", Status: c.want}}, lostOf(p))
		require.Empty(t, server.terminated, "without a claim the work ended with its task")
		for range 3 {
			p.reconcile(t.Context(), time.Now())
		}
		require.Len(t, lostOf(p), 1, "told once")
	}
}

// One whose signal came meanwhile is not lost, nor one that runs or can't be looked at.
func TestATaskThatToldItsEndOrRunsIsNotLost(t *testing.T) {
	server := &temporalServer{control: runs(time.Minute, "a"), tasks: map[string]enumspb.WorkflowExecutionStatus{"task/a/0": completed}}
	p := testPoller(t, server, nil, pollInput())
	p.reconcile(t.Context(), time.Now())
	server.control = runs(0)
	p.reconcile(t.Context(), time.Now())
	require.Empty(t, lostOf(p))

	for name, server := range map[string]*temporalServer{
		"it runs":           {tasks: map[string]enumspb.WorkflowExecutionStatus{"task/a/0": running}},
		"nobody can say so": {lookFails: serviceerror.NewUnavailable("down")},
	} {
		server.control = runs(time.Minute, "a")
		p := testPoller(t, server, nil, pollInput())
		for range 3 {
			p.reconcile(t.Context(), time.Now())
		}
		require.Empty(t, lostOf(p), name)
		require.NotEmpty(t, server.looked, name)
	}
}

// A task is looked at when it has not been for twenty seconds, however many run.
func TestTasksAreNotLookedAtAllTheTime(t *testing.T) {
	var ids []string
	server := &temporalServer{tasks: map[string]enumspb.WorkflowExecutionStatus{}}
	for i := range 40 {
		ids = append(ids, fmt.Sprint(i))
		server.tasks[fmt.Sprintf("task/%d/0", i)] = running
	}
	server.control = runs(reconcileAge/2, ids...)
	p := testPoller(t, server, nil, pollInput())
	now := time.Now()
	p.reconcile(t.Context(), now)
	require.Empty(t, server.looked, "they have begun just now")
	p.reconcile(t.Context(), now.Add(reconcileAge))
	require.Len(t, server.looked, 40)
	p.reconcile(t.Context(), now.Add(reconcileAge+reconcileAge/2))
	require.Len(t, server.looked, 40)
	p.reconcile(t.Context(), now.Add(2*reconcileAge))
	require.Len(t, server.looked, 80)
}

// A start that had no answer is sure once its task is seen, and did not happen if it is
// not to be found after a while.
func TestAStartWithoutAnAnswerIsClearedUp(t *testing.T) {
	server := &temporalServer{control: runs(0), tasks: map[string]enumspb.WorkflowExecutionStatus{"task/a/0": running, "task/c/0": completed}}
	p := testPoller(t, server, nil, pollInput())
	now := time.Now()
	for _, id := range []string{"a", "b", "c"} {
		p.books.enter(wire.StartedTask{TaskID: id, StartedAt: now}, now)
	}
	sure := func() map[string]bool {
		known := map[string]bool{}
		for _, task := range p.memory().Tasks {
			known[task.TaskID] = task.Sure
		}
		return known
	}
	server.lookFails = serviceerror.NewUnavailable("down")
	p.reconcile(t.Context(), now.Add(time.Hour))
	require.Equal(t, map[string]bool{"a": false, "b": false, "c": false}, sure(), "nobody can say so")
	server.lookFails = nil
	p.reconcile(t.Context(), now.Add(unsureAge))
	require.Equal(t, map[string]bool{"a": true, "b": false, "c": true}, sure())
	p.reconcile(t.Context(), now.Add(unsureAge+time.Second))
	require.Equal(t, map[string]bool{"a": true, "c": true}, sure())
	require.Equal(t, "c", lostOf(p)[0].TaskID)
}

// Each task of a claimer that was stopped is told so, until it was, and once.
func TestTasksOfAStoppedClaimerAreToldSo(t *testing.T) {
	server := &temporalServer{
		control: runs(0, "a"), signalFails: errors.New("no answer"),
		tasks: map[string]enumspb.WorkflowExecutionStatus{"task/a/0": running},
	}
	p := testPoller(t, server, nil, pollInput())
	p.reconcile(t.Context(), time.Now())
	require.Empty(t, server.signalled)
	server.control.State = wire.ClaimStopped
	p.reconcile(t.Context(), time.Now())
	p.reconcile(t.Context(), time.Now())
	require.Len(t, server.signalled, 2, "the first had no answer")
	server.signalFails = nil
	for range 3 {
		p.reconcile(t.Context(), time.Now())
	}
	require.Len(t, server.signalled, 3)
	require.Equal(t, "task/a/0 stop", server.signalled[2])
}

// Under a claim the work outlives the runs of its task, so a lost one's is ended; that
// this fails changes nothing else.
func TestWorkOfALostTaskIsEndedUnderAClaim(t *testing.T) {
	for name, fails := range map[string]error{"it runs": nil, "it has ended": serviceerror.NewNotFound("closed"), "nobody answers": errors.New("no answer")} {
		server := &temporalServer{control: runs(time.Minute, "a"), terminateFails: fails, tasks: map[string]enumspb.WorkflowExecutionStatus{"task/a/0": completed}}
		in := pollInput()
		in.Spec.Claim.Service = "http://127.0.0.1:1"
		p := testPoller(t, server, nil, in)
		p.reconcile(t.Context(), time.Now())
		require.Empty(t, server.terminated, name)
		p.reconcile(t.Context(), time.Now())
		require.Equal(t, []string{"task/a/0/run"}, server.terminated, name)
		require.Len(t, lostOf(p), 1, name)
	}
}

// Queues are measured and tasks looked after beside the loop, every so often; with
// nothing that runs there is nothing to look after.
func TestRoundsBesideTheLoopAreApart(t *testing.T) {
	a := newAccount(t, "q")
	a.put("q", 0, taskTexts("a", 3)...)
	server := &temporalServer{control: runs(0, "a"), tasks: map[string]enumspb.WorkflowExecutionStatus{"task/a/0": running}}
	p := testPoller(t, server, a, pollInput("q", "missing"))
	p.watch(t.Context(), wire.ClaimControl{State: wire.ClaimOpen})
	p.inbox.removals.Wait()
	require.Zero(t, server.listed)
	require.Equal(t, wire.QueueState{Name: "q", Visible: 3, Approximate: 3}, p.memory().Queues[0])
	require.Len(t, p.memory().Queues, 1, "one that can't be measured is told of by its polls")
	a.put("q", 0, taskTexts("b", 2)...)
	for range 3 {
		p.watch(t.Context(), server.control)
		p.inbox.removals.Wait()
	}
	require.Equal(t, 1, server.listed)
	require.EqualValues(t, 3, p.memory().Queues[0].Visible)
	p.watching.reconciled = time.Now().Add(-controlEvery)
	p.watch(t.Context(), server.control)
	p.inbox.removals.Wait()
	require.Equal(t, 1, server.listed)
	stopped := server.control
	stopped.State = wire.ClaimStopped
	p.watch(t.Context(), stopped)
	p.inbox.removals.Wait()
	require.Equal(t, 2, server.listed, "tasks of a claimer that was stopped are told within two seconds")
	p.watching.measured = time.Now().Add(-measureEvery)
	p.watch(t.Context(), server.control)
	p.inbox.removals.Wait()
	require.EqualValues(t, 5, p.memory().Queues[0].Visible)
}

// A peek sees 32: what is beyond is not known to be invisible.
func TestMessagesBeyondAPeekAreNotCalledInvisible(t *testing.T) {
	a := newAccount(t, "q")
	a.put("q", 0, taskTexts("a", 10)...)
	p := testPoller(t, &temporalServer{}, a, pollInput("q"))
	_, err := p.azure.queue("q").Receive(t.Context(), 4)
	require.NoError(t, err)
	visible, invisible, approximate, age, err := p.azure.length(t.Context(), "q")
	require.NoError(t, err)
	require.Equal(t, []int64{6, 4, 10}, []int64{visible, invisible, approximate})
	require.InDelta(t, 60, age, 30)
	a.put("q", 0, taskTexts("b", 40)...)
	visible, invisible, approximate, _, err = p.azure.length(t.Context(), "q")
	require.NoError(t, err)
	require.Equal(t, []int64{32, 0, 50}, []int64{visible, invisible, approximate})
}

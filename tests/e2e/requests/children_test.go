package requests_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
)

// TestSuspendCountsTheJobsOfItsChildren: a parent is not at rest while a job of its
// child's child works on.
func TestSuspendCountsTheJobsOfItsChildren(t *testing.T) {
	b := newBench(t)
	const stubborn = `{"id":"%s","activity":"Test.Job","heartbeat":"1m","input":{"takes":"%s","ignoreCancel":true}}`
	inner := fmt.Sprintf(`{"jobs":[%s,{"id":"then","activity":"Test.Job","after":["y"]}]}`, fmt.Sprintf(stubborn, "y", "8s"))
	run := b.start(fmt.Sprintf(`{"jobs":[{"id":"sub","workflow":"Request","input":{"jobs":[%s,%s,{"id":"in","workflow":"Request","input":%s}]}}]}`,
		fmt.Sprintf(stubborn, "x", "8s"), fmt.Sprintf(stubborn, "z", "8s"), inner))
	child := b.c.GetWorkflow(t.Context(), run.GetID()+"/sub/1", "")
	grandchild := b.c.GetWorkflow(t.Context(), child.GetID()+"/in/1", "")
	b.awaitBegun(grandchild.GetID(), "y/1")
	b.awaitBegun(child.GetID(), "x/1")
	b.awaitBegun(child.GetID(), "z/1")

	s := b.must(run, workflows.UpdateSuspend, `{"grace":"1m","wait":"0s"}`)
	require.Equal(t, 1, s.Stopping, "a child that has not told of its jobs yet counts as one")
	b.await(run, "three jobs stop", func(s *request.Status) bool { return s.Stopping == 3 })
	b.await(run, "all have stopped", func(s *request.Status) bool { return s.Stopping == 0 })
	for _, r := range []client.WorkflowRun{child, grandchild} {
		s := b.status(r)
		require.Equal(t, jobchain.Suspended, s.State)
		for _, j := range s.Jobs {
			if j.Name == "Test.Job" {
				require.NotEqual(t, jobchain.Running, j.State, "%s of %s", j.ID, r.GetID())
			}
		}
	}
	b.must(run, workflows.UpdateResume, `{}`)
	require.Equal(t, jobchain.Complete, b.result(run).State)
	b.Record(run.GetID(), workflows.TypeRequest, "children-stop-with-their-parent")
	b.Record(child.GetID(), workflows.TypeRequest, "child-tells-its-parent-what-stops")
}

// TestSuspendIsAnsweredWhenTheJobsOfItsChildrenHaveStopped, not when the child was
// told.
func TestSuspendIsAnsweredWhenTheJobsOfItsChildrenHaveStopped(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[{"id":"sub","workflow":"Request","input":{"jobs":[
		{"id":"x","activity":"Test.Job","heartbeat":"1m","input":{"takes":"6s","ignoreCancel":true}},{"id":"then","activity":"Test.Job","after":["x"]}]}}]}`)
	child := b.c.GetWorkflow(t.Context(), run.GetID()+"/sub/1", "")
	b.awaitBegun(child.GetID(), "x/1")
	s := b.must(run, workflows.UpdateSuspend, `{"grace":"1m","wait":"1m"}`)
	require.Zero(t, s.Stopping)
	require.NotEqual(t, jobchain.Running, b.status(child).Jobs[0].State)
	b.must(run, workflows.UpdateStop, `{}`)
	require.Equal(t, jobchain.Stopped, b.result(run).State)
}

// TestTimedOutChildStaysTimedOutInTheNextRun: its parent rolls over while the child
// that it has stopped for its timeout still ends.
func TestTimedOutChildStaysTimedOutInTheNextRun(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[{"id":"sub","workflow":"Request","timeout":"2s","input":{"jobs":[
		{"id":"x","activity":"Test.Job","heartbeat":"2m","input":{"takes":"60s","ignoreCancel":true}}]}}]}`)
	child := b.c.GetWorkflow(t.Context(), run.GetID()+"/sub/1", "")
	b.awaitBegun(child.GetID(), "x/1")
	b.await(child, "it is stopped", func(s *request.Status) bool { return s.State == jobchain.Stopped })
	rollOver(b, run)
	failure := b.failure(run)
	require.Contains(t, failure.Message(), "ran for longer than its timeout of 2s")
	b.Record(run.GetID(), workflows.TypeRequest, "timed-out-child-in-the-next-run")
	require.Equal(t, jobchain.Fail, b.status(run).Jobs[0].State)
}

// TestChildThatRunsIsFollowedAfterAReset, and after its parent was terminated and
// started again, whatever it is.
func TestChildThatRunsIsFollowedAfterAReset(t *testing.T) {
	b := newBench(t)
	const document = `{"jobs":[
		{"id":"plain","workflow":"TestChild","input":{"takes":"20s","output":"plain"}},
		{"id":"sub","workflow":"Request","input":{"jobs":[{"id":"x","activity":"Test.Job","heartbeat":"5s","input":{"takes":"20s","output":"x"}}]}},
		{"id":"beside","activity":"Test.Job","input":{"takes":"1s"}}]}`
	for name, again := range map[string]func(run client.WorkflowRun) client.WorkflowRun{
		"reset before the children": func(run client.WorkflowRun) client.WorkflowRun { return b.reset(run, 0) },
		"reset after the children":  func(run client.WorkflowRun) client.WorkflowRun { return b.reset(run, 1) },
		"terminated and started again": func(run client.WorkflowRun) client.WorkflowRun {
			require.NoError(t, b.c.TerminateWorkflow(t.Context(), run.GetID(), "", "for a test"))
			next, err := b.c.ExecuteWorkflow(t.Context(), startOptions(run.GetID(), b.TaskQueue), workflows.TypeRequest, json.RawMessage(document))
			require.NoError(t, err)
			return next
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := b.start(document)
			plain, sub := run.GetID()+"/plain/1", run.GetID()+"/sub/1"
			b.awaitBegun(sub, "x/1")
			b.await(run, "all run", func(s *request.Status) bool { return jobRunning(0)(s) && jobRunning(1)(s) })
			first := []string{b.describe(plain), b.describe(sub)}
			next := again(run)
			result := b.result(next)
			require.Equal(t, jobchain.Complete, result.State)
			require.JSONEq(t, `"plain"`, string(result.Jobs["plain"]))
			require.Contains(t, string(result.Jobs["sub"]), `"x":"x"`)
			require.Equal(t, first, []string{b.describe(plain), b.describe(sub)}, "no child was started again")
			require.Equal(t, 1, b.jobs.Dispatches(sub, "x/1"))
			b.Record(run.GetID(), workflows.TypeRequest, "children-followed-when-"+strings.ReplaceAll(name, " ", "-"))
		})
	}
}

// TestFollowedChildIsToldWhatItsParentDoes: it had been suspended with its parent
// when that was terminated.
func TestFollowedChildIsToldWhatItsParentDoes(t *testing.T) {
	b := newBench(t)
	const document = `{"jobs":[{"id":"sub","workflow":"Request","input":{"jobs":[{"id":"x","activity":"Test.Job","heartbeat":"5s","input":{"takes":"3s"}}]}}]}`
	run := b.start(document)
	child := b.c.GetWorkflow(t.Context(), run.GetID()+"/sub/1", "")
	b.await(child, "x runs", jobRunning(0))
	b.must(run, workflows.UpdateSuspend, `{}`)
	b.await(child, "it is suspended", func(s *request.Status) bool { return s.State == jobchain.Suspended })
	require.NoError(t, b.c.TerminateWorkflow(t.Context(), run.GetID(), "", "for a test"))
	next, err := b.c.ExecuteWorkflow(t.Context(), startOptions(run.GetID(), b.TaskQueue), workflows.TypeRequest, json.RawMessage(document))
	require.NoError(t, err)
	require.Equal(t, jobchain.Complete, b.result(next).State)
}

// TestForeignWorkflowUnderAChildsIDIsLeftAlone: only one's own child is followed.
func TestForeignWorkflowUnderAChildsIDIsLeftAlone(t *testing.T) {
	b := newBench(t)
	id := "request/" + b.Name("r")
	foreign, err := b.c.ExecuteWorkflow(t.Context(), startOptions(id+"/sub/1", b.TaskQueue), workflows.TypeRequest, json.RawMessage(`{"jobs":[`+oneLongJob+`]}`))
	require.NoError(t, err)
	run, err := b.c.ExecuteWorkflow(t.Context(), startOptions(id, b.TaskQueue), workflows.TypeRequest,
		json.RawMessage(`{"jobs":[{"id":"sub","workflow":"Request","retry":3,"input":{"jobs":[`+oneLongJob+`]}}]}`))
	require.NoError(t, err)
	failure := b.failure(run)
	require.Contains(t, failure.Message(), activities.TypeConflict)
	require.Contains(t, failure.Message(), "no Request that "+id+" started")
	require.Equal(t, jobchain.Running, b.status(foreign).State)
	b.must(foreign, workflows.UpdateStop, `{}`)
}

// TestChildThatNoWorkerKnowsIsTold: its first workflow task fails again and again,
// which Temporal tells nobody.
func TestChildThatNoWorkerKnowsIsTold(t *testing.T) {
	b := newBench(t)
	run := b.start(fmt.Sprintf(`{"jobs":[{"id":"unknown","workflow":"NoSuchWorkflow"},{"id":"alone","workflow":"TestChild","taskQueue":%q},
		{"id":"well","workflow":"TestChild","input":{"takes":"5m"}}]}`, b.Name("nobody")))
	s := b.await(run, "two children are in trouble", func(s *request.Status) bool { return s.Jobs[0].Error != "" && s.Jobs[1].Error != "" })
	require.Contains(t, s.Jobs[0].Error, "its workflow task fails again and again")
	require.Contains(t, s.Jobs[0].Error, "unable to find workflow type: NoSuchWorkflow")
	require.Contains(t, s.Jobs[1].Error, "no worker has taken up its first workflow task on queue")
	require.Equal(t, jobchain.Running, s.Jobs[0].State)
	require.Empty(t, s.Jobs[2].Error)
	require.Contains(t, b.Temporal("workflow", "metadata", "--workflow-id", run.GetID()).OK(t).Stdout, "NoSuchWorkflow")
	harness.Await(t, "it is found by its trouble", func(ctx context.Context) error {
		found, err := b.c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: "WorkflowId = '" + run.GetID() + "' AND SluiceTrouble = 'Unavailable'"})
		if err == nil && found.GetCount() != 1 {
			err = errors.New("not found")
		}
		return err
	})
	b.Record(run.GetID(), workflows.TypeRequest, "child-that-no-worker-knows")
	b.must(run, workflows.UpdateStop, `{"grace":"0s"}`)
	require.NoError(t, b.c.TerminateWorkflow(t.Context(), run.GetID()+"/unknown/1", "", "for a test"))
	require.NoError(t, b.c.TerminateWorkflow(t.Context(), run.GetID()+"/alone/1", "", "for a test"))
}

// awaitBegun waits until a worker has begun the activity: what is stopped before is
// canceled at once, whatever it would do.
func (b *bench) awaitBegun(workflowID, activityID string) {
	b.t.Helper()
	harness.Await(b.t, activityID+" is begun", func(context.Context) error {
		if b.jobs.Dispatches(workflowID, activityID) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
}

// reset resets a request to one of its completed workflow tasks, counted from 0.
func (b *bench) reset(run client.WorkflowRun, task int) client.WorkflowRun {
	b.t.Helper()
	var finished []int64
	harness.Await(b.t, "workflow tasks", func(ctx context.Context) error {
		finished = nil
		events := b.c.GetWorkflowHistory(ctx, run.GetID(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return err
			}
			if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
				finished = append(finished, event.GetEventId())
			}
		}
		if len(finished) <= task {
			return errors.New("not yet")
		}
		return nil
	})
	answer, err := b.c.ResetWorkflowExecution(b.t.Context(), &workflowservice.ResetWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: run.GetID(), RunId: run.GetRunID()},
		Reason: "for a test", WorkflowTaskFinishEventId: finished[task], RequestId: b.Name("reset"),
	})
	require.NoError(b.t, err)
	return b.c.GetWorkflow(b.t.Context(), run.GetID(), answer.GetRunId())
}

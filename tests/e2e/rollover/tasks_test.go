package rollover_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
	"sluice/tests/jobs/testjobs"
	"sluice/tests/taskservice"
	"sluice/workflows"
	"sluice/workflows/task"
)

// tasks is a claimer whose tasks have claims of some seconds at a task service, and
// wait until they are told to go on.
type tasks struct {
	*harness.Stack
	t       *testing.T
	claimer *target
	service *taskservice.Service
	queue   string
}

// newTasks starts them, with claims of so long.
func newTasks(t *testing.T, claims time.Duration, names ...string) *tasks {
	t.Helper()
	t.Parallel()
	s := harness.Start(t)
	g := &tasks{Stack: s, t: t, service: taskservice.Start(t), queue: s.Name("tasks")}
	g.service.Set(claims, 0, "")
	s.StartWorker("SLUICE_TASK_SERVICE_URL=" + g.service.URL)
	jobs := s.Name("jobs")
	s.LaunchProgram("tests/jobs", "SLUICE_TASK_QUEUE="+jobs)
	s.NewAzureQueue(g.queue)
	for _, name := range names {
		g.service.Payload(g.taskID(name), map[string]any{"waits": true, "output": "done"})
		_, err := s.Queues.NewQueueClient(g.queue).EnqueueMessage(t.Context(), fmt.Sprintf(`{"taskId":%q}`, g.taskID(name)), nil)
		require.NoError(t, err)
	}
	g.claimer = start(t, s, workflows.TypeClaimTasks, workflows.ClaimID(g.queue), fmt.Sprintf(
		`{"queues":[{"name":%q}],"interval":"200ms","maxInterval":"1s","run":{"workflow":"TestChild","taskQueue":%q},
		  "claim":{"service":%q,"workerGroup":"sluice","workerId":"one","reclaimBefore":"1s"}}`, g.queue, jobs, g.service.URL))
	await(g.claimer, "all run", func(c claimed) bool { return c.Running == len(names) })
	return g
}

// age has every task continue as new before and after a renewal of its claim.
func (g *tasks) age(names ...string) {
	g.t.Helper()
	g.roll(1, names...)
	for _, name := range names {
		await(g.task(name), "its claim is renewed", func(s task.Status) bool { return s.Reclaims > 0 })
	}
	g.roll(2, names...)
}

func (g *tasks) taskID(name string) string { return g.queue + "-" + name }

// task is a Task as it was begun.
func (g *tasks) task(name string) *target {
	g.t.Helper()
	id := "task/" + g.taskID(name) + "/0"
	described, err := g.Client.DescribeWorkflow(g.t.Context(), id, "")
	require.NoError(g.t, err)
	return &target{g.Stack, g.t, id, described.RawResponse.GetWorkflowExecutionInfo().GetFirstRunId()}
}

// unread is a message that a task refuses, and that makes its history long.
var unread = message{"stop", `{"unknown":1}`, true}

// roll has tasks continue as new so often.
func (g *tasks) roll(times int, names ...string) {
	g.t.Helper()
	for range 4 {
		for _, name := range names {
			g.task(name).must(unread, nil)
		}
	}
	for _, name := range names {
		one := g.task(name)
		one.storm(times, func() { one.must(unread, nil) })
	}
}

// release has the work of a task go on to its end.
func (g *tasks) release(name string) {
	g.t.Helper()
	ctx, cancel := patient(g.t)
	defer cancel()
	handle, err := g.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: workflows.TaskRunID(g.task(name).id), UpdateName: testjobs.ChildGo, WaitForStage: client.WorkflowUpdateStageCompleted})
	require.NoError(g.t, err)
	require.NoError(g.t, handle.Get(ctx, nil))
}

// A task with a short claim once grew by sixteen events a minute until the server
// terminated it. It goes on in a new run with its claim and its work; what is sent to
// it meanwhile counts.
func TestTasksThatRenewTheirClaimsForHoursContinueAsNew(t *testing.T) {
	names := []string{"done", "stopped", "cancelled", "superseded"}
	g := newTasks(t, 8*time.Second, names...)
	g.age(names...)
	work := workflows.TaskRunID(g.task("done").id)
	described, err := g.Client.DescribeWorkflow(t.Context(), work, "")
	require.NoError(t, err)
	require.Equal(t, described.RawResponse.GetWorkflowExecutionInfo().GetFirstRunId(), described.RawResponse.GetWorkflowExecutionInfo().GetExecution().GetRunId())

	g.release("done")
	stopped, cancelled := g.task("stopped"), g.task("cancelled")
	for range 4 { // with a history that is nearly full, or is just now
		stopped.must(unread, nil)
		cancelled.must(unread, nil)
	}
	atOnce(
		func() { stopped.must(message{"stop", `{"reason":"enough"}`, true}, nil) },
		func() { require.NoError(t, g.Client.CancelWorkflow(t.Context(), cancelled.id, "")) },
		func() { g.service.Resolve(g.taskID("superseded"), 0, "exception") },
	)
	for name, want := range map[string]task.Status{
		"done":       {State: "COMPLETED"},
		"stopped":    {State: "EXCEPTION", Reason: "worker-shutdown", LastError: "enough"},
		"cancelled":  {State: "EXCEPTION", Reason: "worker-shutdown", LastError: "canceled"},
		"superseded": {State: "CANCELED"},
	} {
		one := g.task(name)
		var result task.Status
		one.result(&result)
		require.Equal(t, want.State, result.State, name)
		require.Equal(t, want.Reason, result.Reason, name)
		require.Contains(t, result.LastError, want.LastError, name)
		require.GreaterOrEqual(t, len(one.runs()), 3, name)
		require.Equal(t, one.runs()[0][0].GetEventTime().AsTime(), result.StartedAt.UTC(), "%s began with its first run", name)
		run := g.service.Run(g.taskID(name), 0)
		require.Equal(t, 1, run.Claims, name)
		reports := 1
		if name == "superseded" {
			reports = 0
		}
		require.Equal(t, reports, run.Reports, name)
		require.Equal(t, want.Reason, run.Reason, name)
		closed, err := g.Client.DescribeWorkflow(t.Context(), workflows.TaskRunID(one.id), "")
		require.NoError(t, err)
		require.NotEqual(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, closed.RawResponse.GetWorkflowExecutionInfo().GetStatus(), "%s left its work", name)
	}
	ended := await(g.claimer, "all ended", func(c claimed) bool { return c.Running == 0 })
	require.EqualValues(t, 4, ended.Claimed)
	require.EqualValues(t, 4, ended.Finished)
	g.Record(g.task("done").id, workflows.TypeTask, "continued-as-new", g.task("done").first)
	g.Record(g.task("done").id, workflows.TypeTask, "goes-on-in-another-run")
	g.Record(g.task("stopped").id, workflows.TypeTask, "stopped-in-another-run")
}

// Work under a claim outlives the runs of its task, so somebody has to end it where
// the task is terminated: its claim is renewed no more, and others may get the task.
func TestTheWorkOfATaskThatWasTerminatedEnds(t *testing.T) {
	g := newTasks(t, 8*time.Second, "lost")
	g.age("lost")
	lost := g.task("lost")
	require.NoError(t, g.Client.TerminateWorkflow(t.Context(), lost.id, "", "an operator's slip"))
	g.claimer.must(message{"stop", `{}`, false}, nil) // it looks at its tasks at once
	harness.Await(t, "its work ends", func(ctx context.Context) error {
		described, err := g.Client.DescribeWorkflow(ctx, workflows.TaskRunID(lost.id), "")
		if err == nil && described.RawResponse.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED {
			err = errors.New("it runs")
		}
		return err
	})
	var result claimed
	g.claimer.result(&result)
	require.EqualValues(t, 1, result.Finished)
}

// A task that was reset meets its work, which runs, and goes on with it, also where
// that ends before it was looked at.
func TestATaskThatWasResetFollowsItsWork(t *testing.T) {
	g := newTasks(t, 10*time.Minute, "reset")
	one := g.task("reset")
	g.Temporal("workflow", "reset", "--workflow-id", one.id, "--type", "FirstWorkflowTask", "--reason", "test").OK(t)
	harness.Await(t, "it has met its work", func(ctx context.Context) error {
		events := g.Client.GetWorkflowHistory(ctx, one.id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return err
			}
			if event.GetEventType() == enumspb.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_FAILED {
				return nil
			}
		}
		return errors.New("not yet")
	})
	g.release("reset")
	var result task.Status
	one.result(&result)
	require.Equal(t, "COMPLETED", result.State)
	require.Equal(t, 1, g.service.Run(g.taskID("reset"), 0).Reports)
	g.Record(one.id, workflows.TypeTask, "follows-its-work-when-reset")
}

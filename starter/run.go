package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/jobchain"
	"sluice/internal/limits"
	watch "sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/starter/internal/shell"
	"sluice/workflows"
	"sluice/workflows/claimtasks"
	"sluice/workflows/countobjects"
	"sluice/workflows/ingest"
	"sluice/workflows/producer"
	"sluice/workflows/quiescence"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
)

// waitFlag is shared by the commands that start something.
type waitFlag struct {
	Wait bool `help:"Wait for the end, show progress, print the result."`
}

// launch is a workflow to start.
type launch struct {
	workflowType string
	id           string
	input        json.RawMessage
	target       string                      // what SluiceTarget says
	options      client.StartWorkflowOptions // ID and TaskQueue are filled in
}

// kind is what the program knows of a workflow type that it starts: what checks
// an input as the workflow would, and which command shows a run.
type kind struct {
	check  func(id string, input json.RawMessage) error
	status string // "" where there is none
	state  string // in which a run begins
}

var kinds = map[string]kind{
	workflows.TypeRequest:         {request.CheckInput, "request status", string(jobchain.Running)},
	workflows.TypeResumeSuspended: {resumer.CheckInput, "", workflows.StateOpen},
	workflows.TypeProducer:        {producer.CheckInput, "producer status", producer.Running},
	workflows.TypeQuiescence:      {quiescence.CheckInput, "quiescence status", watch.Waiting},
	workflows.TypeCountObjects:    {countobjects.CheckInput, "count status", workflows.StateOpen},
	workflows.TypeClaimTasks:      {claimtasks.CheckInput, "claim status", workflows.StateOpen},
	workflows.TypeIngest:          {ingest.CheckInput, "ingest status", workflows.StateOpen},
}

// checkInput refuses an input that the workflow would refuse.
func checkInput(workflowType, id string, input json.RawMessage) error {
	if err := kinds[workflowType].check(id, input); err != nil {
		return usage("%s", describe(err))
	}
	return nil
}

// start starts the workflow and tells its IDs, its link and, when asked, the
// temporal command. An input with faults is refused before anything is started;
// one that runs already under the ID is an error.
func (a *app) start(l launch) (begun, error) {
	if err := checkID(l.id); err != nil {
		return begun{}, err
	}
	if err := checkInput(l.workflowType, l.id, l.input); err != nil {
		return begun{}, err
	}
	c, err := a.same(startCommand(l, a.cli.TaskQueue))
	if err != nil {
		return begun{}, err
	}
	l.options.ID = l.id
	l.options.StaticDetails = wire.About(l.workflowType)
	if l.options.TypedSearchAttributes.Size() == 0 {
		l.options.TypedSearchAttributes = activities.StartAttributes(kinds[l.workflowType].state, l.workflowType, l.target)
	}
	l.options.TaskQueue = a.cli.TaskQueue
	l.options.WorkflowExecutionErrorWhenAlreadyStarted = true
	run, err := c.ExecuteWorkflow(a.ctx, l.options, l.workflowType, l.input)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) && a.hasCompleted(l.id) {
		return begun{}, failed("%s has completed (run %s); --again starts it once more, another --id beside it", l.id, started.RunId)
	}
	if errors.As(err, &started) {
		return begun{}, failed("%s is already running (run %s); choose another --id, or look at it with `status`", l.id, started.RunId)
	}
	if err != nil {
		return begun{}, err
	}
	a.introduce(run.GetID(), run.GetRunID())
	return begun{run, l.workflowType}, nil
}

// hasCompleted reports that the latest run of the workflow succeeded.
func (a *app) hasCompleted(id string) bool {
	seen, err := a.describe(a.ctx, id)
	return err == nil && seen.described.GetWorkflowExecutionInfo().GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED
}

// checkID refuses what Temporal would refuse, by the name of the flag.
func checkID(id string) error {
	var faults document.Faults
	limits.CheckID(&faults, "--id", id, "")
	if err := faults.Err(); err != nil {
		return usage("%v", err)
	}
	return nil
}

func (a *app) introduce(workflowID, runID string) {
	a.note("workflow %s", workflowID)
	a.note("run      %s", runID)
	a.note("web ui   %s", a.link(workflowID, runID))
}

// startAndWait starts the workflow; with wait it follows it to its end and
// prints its result, which judges may find to be a failure.
func (a *app) startAndWait(l launch, wait bool, progress progressOf, judges ...func(result json.RawMessage) error) error {
	run, err := a.start(l)
	if err != nil {
		return err
	}
	if !wait {
		return a.started(run)
	}
	result, err := a.follow(run, progress)
	if err != nil {
		return err
	}
	if err := a.result(result); err != nil {
		return err
	}
	for _, judge := range judges {
		if err := judge(result); err != nil {
			return err
		}
	}
	return nil
}

// begun is a run that this program has started.
type begun struct {
	client.WorkflowRun
	workflowType string
}

// started is the result of a command that does not wait for the end: it waits
// until a worker has taken the run up, which is when the run tells that it can't
// be done at all.
func (a *app) started(run begun) error {
	err := a.awaitFirstTask(run)
	if resultErr := a.result(map[string]string{"workflowId": run.GetID(), "runId": run.GetRunID()}); resultErr != nil {
		return resultErr
	}
	return err
}

// firstTask is how long a worker may take to take up a run before the person is
// told; what does not run yet is started all the same.
const firstTask = 10 * time.Second

// awaitFirstTask waits for the run's first workflow task, and fails where the run
// or the worker failed in it.
func (a *app) awaitFirstTask(run begun) error {
	ctx, cancel := context.WithTimeout(a.ctx, firstTask)
	defer cancel()
	events := a.connected.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			break
		}
		if event.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
			if err := a.failedIn(run, event.GetEventId()); err != nil {
				return err
			}
			return a.noteTrouble(run)
		}
		switch task := event.GetWorkflowTaskFailedEventAttributes(); task.GetCause() {
		case enumspb.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE, enumspb.WORKFLOW_TASK_FAILED_CAUSE_NON_DETERMINISTIC_ERROR:
			return failed("a worker can't run %s, and it is tried again: %s", run.GetID(), task.GetFailure().GetMessage())
		}
	}
	if a.ctx.Err() != nil {
		return a.goesOn(run)
	}
	a.note("no worker on queue %s has taken %s yet; it starts when one does", a.cli.TaskQueue, run.GetID())
	return nil
}

// noteTrouble tells what is in the way of a run from its beginning, such as a task
// queue that nobody polls.
func (a *app) noteTrouble(run begun) error {
	seen, err := a.describe(a.ctx, run.GetID())
	if err != nil {
		return err
	}
	t, err := a.troubleOf(seen)
	if err == nil && !t.None() {
		a.note("%s %s", run.GetID(), t)
	}
	return err
}

// failedIn is the error of a run that failed in this very workflow task. What
// fails later is not told here, or it would depend on how fast that is.
func (a *app) failedIn(run begun, task int64) error {
	described, err := a.connected.DescribeWorkflow(a.ctx, run.GetID(), run.GetRunID())
	if err != nil || described.RawResponse.GetWorkflowExecutionInfo().GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_FAILED {
		return err
	}
	last, err := a.connected.GetWorkflowHistory(a.ctx, run.GetID(), run.GetRunID(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT).Next()
	if err != nil || last.GetWorkflowExecutionFailedEventAttributes().GetWorkflowTaskCompletedEventId() != task {
		return err
	}
	return run.Get(a.ctx, nil)
}

// goesOn ends a command that was interrupted while a run went on.
func (a *app) goesOn(run begun) error {
	look := a.link(run.GetID(), run.GetRunID())
	if command := kinds[run.workflowType].status; command != "" {
		look = "starter " + command + " " + shell.Quote(run.GetID()) + ", or at " + look
	}
	return exit{exitAlive, run.GetID() + " goes on; look with: " + look}
}

// randomID is the default of workflow IDs that the caller did not choose.
func randomID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:12]) }

// closedAs describes how a run ended, "" while it goes on.
func closedAs(status enumspb.WorkflowExecutionStatus) string {
	if status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return ""
	}
	return status.String()
}

// failureDetails returns the first detail of the application error that a run
// ended with, such as a request's status document.
func failureDetails(err error) (json.RawMessage, bool) {
	var application *temporal.ApplicationError
	if !errors.As(err, &application) || !application.HasDetails() {
		return nil, false
	}
	var details json.RawMessage
	return details, application.Details(&details) == nil
}

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

	"sluice"
	"sluice/internal/document"
	"sluice/internal/limits"
	"sluice/workflows"
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
	options      client.StartWorkflowOptions // ID and TaskQueue are filled in
}

// start starts the workflow and tells its IDs, its link and, when asked, the
// temporal command. One that runs already under the ID is an error.
func (a *app) start(l launch) (client.WorkflowRun, error) {
	if err := checkID(l.id); err != nil {
		return nil, err
	}
	c, err := a.temporal()
	if err != nil {
		return nil, err
	}
	a.printCLI(startCommand(l, a.cli.TaskQueue))
	l.options.ID = l.id
	l.options.TaskQueue = a.cli.TaskQueue
	l.options.WorkflowExecutionErrorWhenAlreadyStarted = true
	run, err := c.ExecuteWorkflow(a.ctx, l.options, l.workflowType, l.input)
	var started *serviceerror.WorkflowExecutionAlreadyStarted
	if errors.As(err, &started) {
		return nil, failed("%s is already running (run %s); choose another --id, or look at it with `status`", l.id, started.RunId)
	}
	if err != nil {
		return nil, err
	}
	a.introduce(run.GetID(), run.GetRunID())
	return run, nil
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
// prints its result, else it prints the status document as far as there is one.
func (a *app) startAndWait(l launch, wait bool, progress progressOf) error {
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
	return a.result(result)
}

// started is the result of a command that does not wait.
func (a *app) started(run client.WorkflowRun) error {
	return a.result(map[string]string{"workflowId": run.GetID(), "runId": run.GetRunID()})
}

// randomID is the default of workflow IDs that the caller did not choose.
func randomID(prefix string) string { return prefix + strings.ToLower(rand.Text()[:12]) }

// heartbeat reads into v what a pending activity of a workflow last heartbeat.
func (a *app) heartbeat(workflowID, activityType string, v any) bool {
	described, err := a.connected.DescribeWorkflow(a.ctx, workflowID, "")
	if err != nil {
		return false
	}
	dc, err := sluice.DataConverter(a.cli.Config)
	if err != nil {
		return false
	}
	for _, pending := range described.RawResponse.GetPendingActivities() {
		if pending.GetActivityType().GetName() == activityType && pending.GetHeartbeatDetails() != nil {
			return dc.FromPayloads(pending.GetHeartbeatDetails(), v) == nil
		}
	}
	return false
}

// progressOf reads from a status document how far the work is. A total of 0
// means that it is not known.
type progressOf func(status json.RawMessage) (done, total int64, words string)

// pollInterval is how often a waiting command looks at the status.
const pollInterval = time.Second

// follow shows the run's progress until it ends and returns its result.
func (a *app) follow(run client.WorkflowRun, progress progressOf) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(a.ctx)
	bar := newProgress(a.stderr)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		a.showProgress(ctx, run, progress, bar)
	}()
	var result json.RawMessage
	err := run.Get(a.ctx, &result)
	cancel()
	<-ended
	bar.finish()
	return result, err
}

func (a *app) showProgress(ctx context.Context, run client.WorkflowRun, progress progressOf, bar *progressLine) {
	if progress == nil {
		return
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		answer, err := a.connected.QueryWorkflow(ctx, run.GetID(), "", workflows.QueryStatus)
		if err != nil {
			continue // no worker yet, or the run is between two workflow tasks
		}
		var status json.RawMessage
		if answer.Get(&status) == nil {
			bar.show(progress(status))
		}
	}
}

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

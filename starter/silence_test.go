package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/mocks"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// connectedTo is an app whose server knows one workflow "w" of this status, on a task
// queue that a worker polled so long ago.
func connectedTo(t *testing.T, status enumspb.WorkflowExecutionStatus, polled time.Duration) (*app, *mocks.Client) {
	t.Helper()
	c := &mocks.Client{}
	a := testApp("")
	a.connected, a.cli.TaskQueue = c, "q"
	described := &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "w", RunId: "run"}, Status: status, TaskQueue: "theirs"}}}
	c.On("DescribeWorkflow", mock.Anything, "w", mock.Anything).Return(described, nil).Maybe()
	c.On("DescribeWorkflow", mock.Anything, mock.Anything, mock.Anything).Return(nil, serviceerror.NewNotFound("x")).Maybe()
	c.On("DescribeTaskQueue", mock.Anything, "theirs", mock.Anything).Return(&workflowservice.DescribeTaskQueueResponse{
		Pollers: []*taskqueuepb.PollerInfo{{LastAccessTime: timestamppb.New(time.Now().Add(-polled))}}}, nil).Maybe()
	return a, c
}

// A workflow that does not answer a query: there is none, it has ended, or nobody is
// there to answer for it; what is none of these stays as it is.
func TestAWorkflowThatDoesNotAnswerIsExplained(t *testing.T) {
	timeout := errors.New("deadline exceeded")
	ended := temporal.NewApplicationError("source: required", "InvalidInput")
	for name, c := range map[string]struct {
		id     string
		status enumspb.WorkflowExecutionStatus
		polled time.Duration
		err    error
		end    error
		want   string
	}{
		"no such workflow":          {id: "other", err: serviceerror.NewNotFound("x"), want: "no workflow other"},
		"it failed":                 {id: "w", status: enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, err: timeout, end: ended, want: "w has ended: Failed: InvalidInput: source: required"},
		"it completed":              {id: "w", status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, err: timeout, want: "w has ended: Completed; it does not answer: deadline exceeded"},
		"nobody polls":              {id: "w", status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, polled: 71 * time.Second, err: timeout, want: "no worker polls queue theirs, so nobody answers for w"},
		"its worker is busy":        {id: "w", status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, polled: 69 * time.Second, err: timeout, want: "deadline exceeded"},
		"it can't be looked at now": {id: "other", err: timeout, want: "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			a, server := connectedTo(t, c.status, c.polled)
			run := &mocks.WorkflowRun{}
			run.On("Get", mock.Anything, mock.Anything).Return(c.end)
			server.On("GetWorkflow", mock.Anything, "w", "run").Return(run)
			require.EqualError(t, a.explainSilence(c.id, c.err), c.want)
		})
	}
}

// A message to a workflow that takes none any more is told how it ended.
func TestAMessageThatCameTooLateIsExplained(t *testing.T) {
	gone := serviceerror.NewNotFound("workflow execution already completed")
	a, _ := connectedTo(t, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, 0)
	require.EqualError(t, a.explainClosed("w", gone), "w has ended: Terminated")
	require.EqualError(t, a.explainClosed("other", gone), "no workflow other")
	refused := temporal.NewApplicationError("it is RUNNING", "Conflict")
	require.Equal(t, refused, a.explainClosed("w", refused))
	require.NoError(t, a.explainClosed("w", nil))
}

// events is a history that ends, or fails, after these.
func events(fails error, all ...*historypb.HistoryEvent) *mocks.HistoryEventIterator {
	i := &mocks.HistoryEventIterator{}
	for _, e := range all {
		i.On("HasNext").Return(true).Once()
		i.On("Next").Return(e, nil).Once()
	}
	i.On("HasNext").Return(fails != nil)
	i.On("Next").Return(nil, fails)
	return i
}

// What a start says after it: nothing where a worker has taken the run, that none has,
// or why a worker can't.
func TestAStartTellsWhoHasTakenIt(t *testing.T) {
	taskFailed := func(cause enumspb.WorkflowTaskFailedCause) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, Attributes: &historypb.HistoryEvent_WorkflowTaskFailedEventAttributes{
			WorkflowTaskFailedEventAttributes: &historypb.WorkflowTaskFailedEventAttributes{Cause: cause, Failure: &failurepb.Failure{Message: "unable to find workflow type: X"}}}}
	}
	scheduled := &historypb.HistoryEvent{EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED}
	completed := &historypb.HistoryEvent{EventId: 4, EventType: enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED}
	for name, c := range map[string]struct {
		history *mocks.HistoryEventIterator
		err     string
		told    string
	}{
		"taken":             {events(nil, scheduled, completed), "", ""},
		"not in time":       {events(errors.New("deadline"), scheduled), "", "no worker on queue q has taken w yet; it starts when one does\n"},
		"of unknown type":   {events(nil, taskFailed(enumspb.WORKFLOW_TASK_FAILED_CAUSE_WORKFLOW_WORKER_UNHANDLED_FAILURE)), "a worker can't run w, and it is tried again: unable to find workflow type: X", ""},
		"failed in passing": {events(nil, taskFailed(enumspb.WORKFLOW_TASK_FAILED_CAUSE_RESET_WORKFLOW), completed), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			a, server := connectedTo(t, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, 0)
			run := &mocks.WorkflowRun{}
			run.On("GetID").Return("w")
			run.On("GetRunID").Return("run")
			server.On("GetWorkflowHistory", mock.Anything, "w", "run", true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT).Return(c.history)
			err := a.started(begun{run, "Request"})
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, c.err)
			}
			require.Equal(t, c.told, a.stderr.(*bytes.Buffer).String())
			var result map[string]string
			require.NoError(t, json.Unmarshal(a.stdout.(*bytes.Buffer).Bytes(), &result))
			require.Equal(t, map[string]string{"workflowId": "w", "runId": "run"}, result, "it is started all the same")
		})
	}
}

// A schedule that is not there is told with the command that makes it.
func TestAMissingScheduleIsToldWithItsCommand(t *testing.T) {
	require.EqualError(t, noSchedule(serviceerror.NewNotFound("x")), "no schedule sluice-resumer; `starter resumer start` makes it")
	other := errors.New("other")
	require.Equal(t, other, noSchedule(other))
}

// An exit status by how the workflow is: alive, completed, or ended otherwise.
func TestAStatusExitsAsItsWorkflowIs(t *testing.T) {
	for status, want := range map[enumspb.WorkflowExecutionStatus]int{
		enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING: exitAlive, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED: exitDone,
		enumspb.WORKFLOW_EXECUTION_STATUS_FAILED: exitFailed, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED: exitFailed,
	} {
		a, _ := connectedTo(t, status, 0)
		seen, err := a.describe(t.Context(), "w")
		require.NoError(t, err)
		err = a.showStatus(tableFlag{"table"}, seen, map[string]any{"state": "OPEN", "jobs": []any{map[string]any{"id": "a"}}})
		require.Equal(t, want, a.report(err), status)
		require.Equal(t, "STATE  OPEN\n\nJOBS\nID\na\n", a.stdout.(*bytes.Buffer).String())
	}
}

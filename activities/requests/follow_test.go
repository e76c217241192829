package requests

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/wire"
)

// ended is a followed workflow that has this result, or this error.
type ended struct {
	client.WorkflowRun
	result *commonpb.Payload
	err    error
}

func (e ended) Get(_ context.Context, v any) error {
	if e.err == nil {
		*v.(*converter.RawValue) = converter.NewRawValue(e.result)
	}
	return e.err
}

func follow(t *testing.T, run ended, stateOnly bool) (wire.Followed, error) {
	t.Helper()
	c := &Children{Temporal: &server{run: run}}
	return call(t, wire.FollowWorkflow, c.Follow, wire.FollowInput{WorkflowID: "w", StateOnly: stateOnly})
}

func TestAResultIsHandedOnWholeOrItsStateOnly(t *testing.T) {
	payload := func(v any) *commonpb.Payload {
		p, err := converter.GetDefaultDataConverter().ToPayload(v)
		require.NoError(t, err)
		return p
	}
	for _, c := range []struct{ result, whole, state string }{
		{`{"state":"COMPLETE","args":{"n":12345678901234567890}}`, `{"state":"COMPLETE","args":{"n":12345678901234567890}}`, `{"state":"COMPLETE"}`},
		{`"text"`, `"text"`, `null`},
		{`{"state":7}`, `{"state":7}`, `null`},
		{`{}`, `{}`, `{"state":""}`},
	} {
		got, err := follow(t, ended{result: payload(json.RawMessage(c.result))}, false)
		require.NoError(t, err)
		require.Equal(t, wire.FollowedCompleted, got.Status)
		require.Equal(t, c.whole, string(got.Output))
		got, err = follow(t, ended{result: payload(json.RawMessage(c.result))}, true)
		require.NoError(t, err)
		require.Equal(t, c.state, string(got.Output))
	}
	got, err := follow(t, ended{result: &commonpb.Payload{Metadata: map[string][]byte{"encoding": []byte("binary/protobuf")}, Data: []byte{0, 1}}}, false)
	require.NoError(t, err)
	require.Equal(t, wire.Followed{Status: wire.FollowedUnreadable, Type: "binary/protobuf"}, got)
}

// closedBy is the error that a client gets of a workflow that ended with err.
func closedBy(t *testing.T, err error) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.ExecuteWorkflow(func(workflow.Context) error { return err })
	var closed *temporal.WorkflowExecutionError
	require.ErrorAs(t, env.GetWorkflowError(), &closed)
	return closed
}

func TestTheEndOfAFollowedWorkflowIsToldByItsKind(t *testing.T) {
	retryable := temporal.NewApplicationErrorWithOptions("later", "Throttled", temporal.ApplicationErrorOptions{NextRetryDelay: time.Minute})
	for name, c := range map[string]struct {
		err  error
		want wire.Followed
	}{
		"failed for good": {closedBy(t, temporal.NewNonRetryableApplicationError("wrong", "InvalidInput", nil)),
			wire.Followed{Status: wire.FollowedFailed, Type: "InvalidInput", Message: "wrong", NonRetryable: true}},
		"failed for now": {closedBy(t, retryable),
			wire.Followed{Status: wire.FollowedFailed, Type: "Throttled", Message: "later", Delay: duration.Duration(time.Minute)}},
		"cancelled": {closedBy(t, temporal.NewCanceledError()), wire.Followed{Status: wire.FollowedCanceled}},
		"not there": {serviceerror.NewNotFound("workflow not found"),
			wire.Followed{Status: wire.FollowedFailed, Type: activities.TypeNotFound, Message: "no workflow w", NonRetryable: true}},
	} {
		got, err := follow(t, ended{err: c.err}, false)
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := follow(t, ended{err: errors.New("connection refused")}, false)
	require.Equal(t, activities.TypeUnavailable, activities.TypeOf(err), "the workflow goes on, it is only not seen")
}

// A workflow may fail since something of its own was cancelled: it failed.
func TestAFailureCausedByACancellationIsAFailure(t *testing.T) {
	inner := temporal.NewApplicationErrorWithCause("gave up", "GaveUp", temporal.NewCanceledError())
	wrapped := new(temporal.WorkflowExecutionError)
	require.ErrorAs(t, closedBy(t, inner), &wrapped)
	got := followed(wrapped)
	require.Equal(t, wire.FollowedFailed, got.Status)
	require.Equal(t, "GaveUp", got.Type)
}

func TestOnlyOnesOwnChildIsJoined(t *testing.T) {
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, c := range map[string]struct {
		parent, kind string
		status       enumspb.WorkflowExecutionStatus
		own          bool
	}{
		"own":              {"p", "Work", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, true},
		"own, ended since": {"p", "Work", enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, true},
		"another's":        {"q", "Work", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, false},
		"nobody's":         {"", "Work", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, false},
		"of another type":  {"p", "Play", enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, false},
	} {
		d := onQueue("q")
		info := d.WorkflowExecutionInfo
		info.Type.Name, info.Status, info.StartTime = c.kind, c.status, timestamppb.New(began)
		if c.parent != "" {
			info.ParentExecution = &commonpb.WorkflowExecution{WorkflowId: c.parent}
		}
		joined, err := call(t, wire.JoinChild, (&Children{Temporal: &server{described: d}}).Join, wire.JoinInput{WorkflowID: "w", Parent: "p", Type: "Work"})
		if c.own {
			require.NoError(t, err, name)
			require.Equal(t, began, joined.StartedAt, name)
			continue
		}
		require.Equal(t, activities.TypeConflict, activities.TypeOf(err), name)
	}
}

func TestWhetherAChildHasBegun(t *testing.T) {
	task := func(attempt int32) *workflowpb.PendingWorkflowTaskInfo {
		return &workflowpb.PendingWorkflowTaskInfo{Attempt: attempt}
	}
	for name, c := range map[string]struct {
		status  enumspb.WorkflowExecutionStatus
		task    *workflowpb.PendingWorkflowTaskInfo
		history int64
		want    wire.ChildLook
	}{
		"ended":              {enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, nil, 2, wire.ChildLook{Begun: true}},
		"first task waits":   {enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, task(1), 2, wire.ChildLook{Trouble: "no worker has taken up its first workflow task on queue work"}},
		"a later task waits": {enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, task(1), 9, wire.ChildLook{Begun: true}},
		"waits for others":   {enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, nil, 5, wire.ChildLook{Begun: true}},
	} {
		d := onQueue("work")
		d.PendingWorkflowTask, d.WorkflowExecutionInfo.Status, d.WorkflowExecutionInfo.HistoryLength = c.task, c.status, c.history
		got, err := call(t, wire.LookAtChild, (&Children{Temporal: &server{described: d}}).Look, wire.FollowInput{WorkflowID: "w"})
		require.NoError(t, err, name)
		require.Equal(t, c.want, got, name)
	}
	_, err := call(t, wire.LookAtChild, (&Children{Temporal: &server{describeErr: serviceerror.NewUnavailable("away")}}).Look, wire.FollowInput{WorkflowID: "w"})
	require.Equal(t, activities.TypeUnavailable, activities.TypeOf(err))
}

func TestRunningTimeLeavesSuspensionsOut(t *testing.T) {
	now := time.Now().UTC()
	at := func(ago time.Duration) string { return now.Add(-ago).Format(time.RFC3339Nano) }
	for name, c := range map[string]struct {
		status string
		want   time.Duration
		held   bool
	}{
		"runs":            {`{"asOf":"` + at(0) + `","createdAt":"` + at(time.Hour) + `","suspendedFor":"10m"}`, 50 * time.Minute, false},
		"last looked ago": {`{"asOf":"` + at(30*time.Minute) + `","createdAt":"` + at(time.Hour) + `","suspendedFor":"0s"}`, time.Hour, false},
		"suspended":       {`{"asOf":"` + at(30*time.Minute) + `","createdAt":"` + at(time.Hour) + `","suspendedFor":"10m","suspendedAt":"` + at(40*time.Minute) + `"}`, 20 * time.Minute, true},
		"never below 0":   {`{"asOf":"` + at(time.Hour) + `","createdAt":"` + at(time.Hour) + `","suspendedFor":"2h","suspendedAt":"` + at(time.Hour) + `"}`, 0, true},
	} {
		got, err := call(t, wire.RequestRunningTime, (&Children{Temporal: &server{status: []string{c.status}}}).RunningTime, wire.FollowInput{WorkflowID: "w"})
		require.NoError(t, err, name)
		require.InDelta(t, c.want, got.Ran.Std(), float64(time.Minute), name)
		require.Equal(t, c.held, got.Suspended, name)
	}
	_, err := call(t, wire.RequestRunningTime, (&Children{Temporal: &server{}}).RunningTime, wire.FollowInput{WorkflowID: "w"})
	require.Equal(t, activities.TypeUnavailable, activities.TypeOf(err))
}

package main

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	activitypb "go.temporal.io/api/activity/v1"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/internal/wire"
	"sluice/starter/internal/trouble"
)

var instantOfTests = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// seenWith is a workflow that answered this status, and whose activity of the type
// last heartbeat this.
func seenWith(t *testing.T, status, activityType, beat string) sight {
	t.Helper()
	s := sight{status: json.RawMessage(status), converter: converter.GetDefaultDataConverter(),
		described: &workflowservice.DescribeWorkflowExecutionResponse{
			WorkflowExecutionInfo: &workflow.WorkflowExecutionInfo{Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, TaskQueue: "q"}}}
	if beat != "" {
		details, err := s.converter.ToPayloads(json.RawMessage(beat))
		require.NoError(t, err)
		s.described.PendingActivities = []*workflow.PendingActivityInfo{
			{ActivityType: &commonpb.ActivityType{Name: "Another"}},
			{ActivityType: &commonpb.ActivityType{Name: activityType}, HeartbeatDetails: details},
		}
	}
	return s
}

// What a waiting command shows: the status document, and over it what the activity
// last heartbeat; "starting" while nothing has answered.
func TestProgressIsReadFromStatusAndHeartbeat(t *testing.T) {
	for name, c := range map[string]struct {
		of                 progressOf
		status, kind, beat string
		done, total        int64
		words              string
	}{
		"a request":                  {of: requestProgress, status: `{"state":"RUNNING","totalJobs":4,"finishedJobs":1}`, done: 1, total: 4, words: "RUNNING"},
		"a request that starts":      {of: requestProgress, words: "starting"},
		"an object":                  {objectProgress, `{"state":"RUNNING","totalJobs":1}`, wire.KinesisPutObject, `{"offset":512,"size":2048,"output":{"StoredRecordCount":7}}`, 512, 2048, "RUNNING, 7 records stored, bytes"},
		"a compressed object":        {objectProgress, `{"state":"RUNNING","totalJobs":1}`, wire.KinesisPutObject, `{"offset":512,"size":2048,"coding":"gzip","output":{"StoredRecordCount":7}}`, 7, 0, "RUNNING, records stored"},
		"an object before its first": {of: objectProgress, status: `{"state":"RUNNING","totalJobs":1}`, total: 1, words: "RUNNING"},
		"a watch":                    {of: quiescenceProgress, status: `{"phase":"FLOWING","count":9,"repeats":2,"repeatsNeeded":3}`, done: 2, total: 3, words: "FLOWING  9 seen, unchanged polls"},
		"a watch with enough polls":  {of: quiescenceProgress, status: `{"phase":"SETTLING","count":9,"repeats":7,"repeatsNeeded":3}`, done: 3, total: 3, words: "SETTLING 9 seen, unchanged polls"},
		"a watch that starts":        {of: quiescenceProgress, words: "starting"},
		"a counter":                  {countProgress, `{"messages":1,"events":2}`, wire.CountEvents.Name, `{"messages":5,"events":9}`, 9, 0, "events"},
		"a counter's older beat":     {countProgress, `{"messages":7,"events":12}`, wire.CountEvents.Name, `{"messages":5,"events":9}`, 12, 0, "events"},
		"a claimer":                  {of: claimProgress, status: `{"state":"OPEN","running":2,"claimed":5,"finished":3}`, done: 3, total: 5, words: "OPEN, 2 running, finished"},
		"an ingestion that streams":  {ingestProgress, `{"phase":"STREAM","objects":10,"tasks":1}`, wire.IngestAwaitTasks.Name, `{"ended":4,"total":10}`, 4, 10, "STREAM   objects"},
		"an ingestion that settles":  {ingestProgress, `{"phase":"SETTLE","objects":10,"tasks":10}`, wire.IngestAwaitTasks.Name, `{"ended":4,"total":10}`, 10, 10, "SETTLE   objects"},
		"an ingestion that starts":   {of: ingestProgress, words: "starting"},
	} {
		done, total, words := c.of(seenWith(t, c.status, c.kind, c.beat))
		require.Equal(t, []any{c.done, c.total, c.words}, []any{done, total, words}, name)
	}
}

// What a watch heartbeats is newer than its last report, but never undoes its end.
func TestAWatchShowsItsLatestPoll(t *testing.T) {
	beat := `{"count":12,"repeats":2,"polls":40,"failedPolls":1,"lastError":"Unavailable: x","lastPollAt":"2026-11-30T12:00:00Z","quietAt":"2026-11-30T12:01:00Z"}`
	old := `{"asOf":"2026-11-30T11:00:00Z","phase":"WAITING","count":1,"polls":3}`
	live, err := liveQuiescence(seenWith(t, old, wire.WatchQuiescence.Name, beat))
	require.NoError(t, err)
	require.Equal(t, instantOfTests, live.AsOf)
	require.EqualValues(t, []int64{12, 2, 40, 1}, []int64{live.Count, int64(live.Repeats), live.Polls, live.FailedPolls})
	require.Equal(t, "Unavailable: x", live.LastError)
	require.Equal(t, instantOfTests.Add(time.Minute), *live.QuietAt)
	require.Nil(t, live.NextPollAt)

	newer := `{"asOf":"2026-11-30T12:00:01Z","phase":"FLOWING","count":13}`
	live, err = liveQuiescence(seenWith(t, newer, wire.WatchQuiescence.Name, beat))
	require.NoError(t, err)
	require.EqualValues(t, 13, live.Count)

	live, err = liveQuiescence(seenWith(t, `{"asOf":"2026-11-30T11:00:00Z","phase":"DONE"}`, wire.WatchQuiescence.Name, beat))
	require.NoError(t, err)
	require.Equal(t, "DONE", live.Phase, "a message has ended it")
}

// An error as a person reads it: our type and message, or what to do.
func TestErrorsAreToldInWords(t *testing.T) {
	wrapped := temporal.NewApplicationError("S3.List b: no such bucket", "NotFound")
	for want, err := range map[string]error{
		"NotFound: S3.List b: no such bucket": errors.Join(errors.New("activity error"), wrapped),
		"no namespace absent; make it: temporal operator namespace create --namespace absent, then: starter setup": serviceerror.NewNamespaceNotFound("absent"),
		"not found: workflow x": serviceerror.NewNotFound("workflow x"),
		"invalid query: SluiceState is not defined; search attributes are registered by: starter setup": serviceerror.NewInvalidArgument("invalid query: SluiceState is not defined"),
		"invalid query: syntax":     serviceerror.NewInvalidArgument("invalid query: syntax"),
		"the workflow was canceled": temporal.NewCanceledError(),
		"plain":                     errors.New("plain"),
	} {
		require.Equal(t, want, describe(err))
	}
	require.Contains(t, describe(temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_START_TO_CLOSE, nil)), "timed out: ")
}

// The error of a request of one job is the job's own.
func TestTheErrorOfOneJobIsTold(t *testing.T) {
	ended := func(details any) error {
		failures := temporal.GetDefaultFailureConverter() // as the server hands it on
		return failures.FailureToError(failures.ErrorToFailure(temporal.NewApplicationError("job call failed", "RequestFailed", details)))
	}
	require.EqualError(t, oneJobError(ended(map[string]any{"jobs": []map[string]string{{"id": "call"}, {"id": "active", "error": "NotFound: no table"}}})), "NotFound: no table")
	for _, other := range []error{errors.New("x"), ended("text"), ended(map[string]any{"jobs": []any{}}), temporal.NewApplicationError("none", "T")} {
		require.Equal(t, other, oneJobError(other))
	}
}

// A status tells what is in the way: of a suspension when it ends, of jobs their
// errors; a request that has ended waits for nothing.
func TestASuspendedRequestWaitsToBeResumed(t *testing.T) {
	dc := converter.GetDefaultDataConverter()
	observer := &trouble.Observer{Failures: temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: dc}), Payloads: dc, Describe: describe}
	got := seenWith(t, `{"state":"SUSPENDED","resumeBy":"2026-11-30T12:00:00Z"}`, "", "").trouble(t.Context(), observer)
	require.Equal(t, "waits for being resumed, until 2026-11-30T12:00:00Z", got.String())
	got = seenWith(t, `{"state":"SUSPENDED"}`, "", "").trouble(t.Context(), observer)
	require.Equal(t, "waits for being resumed", got.String())
	got = seenWith(t, `{"state":"SUSPENDED","finishedAt":"2026-11-30T12:00:00Z"}`, "", "").trouble(t.Context(), observer)
	require.True(t, got.None())
	got = seenWith(t, `{"state":"OPEN"}`, "X", `{"queues":[{"lastError":""},{"lastError":"HTTP 404"}]}`).trouble(t.Context(), observer)
	require.Equal(t, "last error: HTTP 404", got.String(), "of the queues that it polls")
	got = seenWith(t, `{"state":"OPEN","lastError":"of the status"}`, "X", `[1]`).trouble(t.Context(), observer)
	require.Equal(t, "last error: of the status", got.String())

	paused := seenWith(t, `{}`, "X", `{}`)
	paused.described.PendingActivities[1].Paused, paused.described.PendingActivities[1].ActivityId = true, "load/1"
	require.Equal(t, "waits for activity load/1 to be unpaused", paused.trouble(t.Context(), observer).String())

	taken := seenWith(t, `{}`, "X", `{}`)
	taken.described.PendingActivities[1].State = enumspb.PENDING_ACTIVITY_STATE_STARTED
	taken.described.PendingActivities[1].ActivityOptions = &activitypb.ActivityOptions{TaskQueue: &taskqueuepb.TaskQueue{Name: "q"}}
	require.True(t, taken.trouble(t.Context(), observer).None())
}

// A request in a list, whether or not it has its search attributes.
func TestAListedRequestHasItsStateAndAge(t *testing.T) {
	payload, err := converter.GetDefaultDataConverter().ToPayload("SUSPENDED")
	require.NoError(t, err)
	l := listedOf(&workflow.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "r", RunId: "1"}, Status: enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED,
		StartTime: timestamppb.New(time.Now().Add(-time.Hour)), CloseTime: timestamppb.New(instantOfTests),
		SearchAttributes: &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{"SluiceState": payload}},
	})
	require.Equal(t, []string{"r", "1", "SUSPENDED", "", "Completed"}, []string{l.ID, l.RunID, l.State, l.Type, l.Status})
	require.Equal(t, instantOfTests, *l.ClosedAt)
	require.Contains(t, l.Age, "1h")
	require.Nil(t, l.TotalJobs, "nobody has answered yet")
}

func TestAClosedRunSaysHow(t *testing.T) {
	require.Empty(t, closedAs(enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING))
	require.Equal(t, "Terminated", closedAs(enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED))
	require.True(t, requestAlive("SUSPENDED"))
	require.False(t, requestAlive("STOPPED"))
}

package request

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	failurepb "go.temporal.io/api/failure/v1"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/errortype"
	"sluice/internal/jobchain"
)

// TestCancelBeforeTheStartLeavesNoCheckpoint: the server's own word in the
// details is not what a try left for the next one.
func TestCancelBeforeTheStartLeavesNoCheckpoint(t *testing.T) {
	for details, want := range map[string]json.RawMessage{
		notStarted:   nil,
		`{"from":7}`: json.RawMessage(`{"from":7}`),
	} {
		end := endByError(temporal.NewCanceledError(json.RawMessage(details)), true)
		require.Equal(t, want, end.Checkpoint, details)
	}
	require.Nil(t, endByError(temporal.NewCanceledError(), true).Checkpoint)
}

// TestWhatIsDeeperInTheChainIsTheJobsOwn: an activity that fails because something
// it called was canceled or lost has failed itself.
func TestWhatIsDeeperInTheChainIsTheJobsOwn(t *testing.T) {
	lost := temporal.NewHeartbeatTimeoutError(7)
	for name, c := range map[string]struct {
		err  error
		kind jobchain.Kind
		kept string
	}{
		"lost":                 {ended(lost), jobchain.Lost, "7"},
		"wraps a lost one":     {ended(temporal.NewApplicationErrorWithCause("no", "Theirs", lost)), jobchain.Failed, ""},
		"wraps a canceled one": {ended(temporal.NewApplicationErrorWithCause("no", "NotFound", temporal.NewCanceledError(3))), jobchain.Final, ""},
		"itself with what was achieved": {ended(activities.Fail(activities.TypeUnavailable, activities.Failure{Checkpoint: 5})),
			jobchain.Refused, "5"},
	} {
		e := endByError(c.err, false)
		require.Equal(t, c.kind, e.Kind, name)
		require.Equal(t, c.kept, string(e.Checkpoint), name)
	}
	e := endByError(ended(activities.Fail(activities.TypeConflict, activities.Failure{Checkpoint: 5})), true)
	require.Equal(t, jobchain.Paused, e.Kind)
	require.Equal(t, "5", string(e.Checkpoint), "what it handed over goes to its repeat, whatever the type")
	require.Equal(t, jobchain.Final, endByError(&activities.UnreadableError{Encoding: "binary/protobuf"}, true).Kind, "it has succeeded")
}

// ended is the error by which a workflow learns the end of an activity that was
// not asked to stop.
func ended(cause error) error { return endedIn(enumspb.RETRY_STATE_MAXIMUM_ATTEMPTS_REACHED, cause) }

func endedIn(state enumspb.RetryState, cause error) error {
	converter := temporal.GetDefaultFailureConverter()
	return converter.FailureToError(&failurepb.Failure{
		Cause: converter.ErrorToFailure(cause),
		FailureInfo: &failurepb.Failure_ActivityFailureInfo{
			ActivityFailureInfo: &failurepb.ActivityFailureInfo{ActivityId: "a/1", RetryState: state},
		},
	})
}

// TestSpentActivityIDs: only an end as canceled frees the ID of a try that was
// asked to stop.
func TestSpentActivityIDs(t *testing.T) {
	canceled := endedIn(enumspb.RETRY_STATE_NON_RETRYABLE_FAILURE, temporal.NewCanceledError())
	saysCanceled := endedIn(enumspb.RETRY_STATE_CANCEL_REQUESTED, temporal.NewCanceledError())
	wrapsCanceled := ended(temporal.NewApplicationErrorWithCause("no", "Theirs", temporal.NewCanceledError()))
	failed := ended(errors.New("no"))
	for _, c := range []struct {
		name string
		try  try
		err  error
		next string
	}{
		{"success", try{number: 1, asked: true}, nil, "a/1"},
		{"canceled", try{number: 1, asked: true}, canceled, "a/1"},
		{"failed, not asked", try{number: 1}, failed, "a/1"},
		{"a child's ID may be taken again", try{number: 1, asked: true, child: &child{}}, failed, "a/1"},
		{"failed", try{number: 1, asked: true}, failed, "a/1/2"},
		{"wraps canceled", try{number: 1, asked: true}, wrapsCanceled, "a/1/2"},
		{"fails and says canceled", try{number: 1, asked: true}, saysCanceled, "a/1/2"},
	} {
		ids := activityIDs{}
		require.Equal(t, c.next != "a/1", ids.ended(&c.try, c.err), c.name)
		require.Equal(t, c.next, ids.next(0, 1, "a/1"), c.name)
		require.Equal(t, "a/2", ids.next(0, 2, "a/2"), "the next try has an ID of its own")
	}
	ids := activityIDs{}
	for range 3 {
		ids.ended(&try{job: 2, number: 1, asked: true}, failed)
	}
	require.Equal(t, "c/1/4", ids.next(2, 1, "c/1"))
	ids.ended(&try{job: 2, number: 2, asked: true}, failed)
	require.Equal(t, "c/2/2", ids.next(2, 2, "c/2"))
	require.Equal(t, "a/1", TryOfActivity("a/1/4"))
	require.Equal(t, "a/1", TryOfActivity("a/1"))
	require.Equal(t, "5", TryOfActivity("5"))
}

// TestOneListOfErrorTypes: what is exported for activities is what requests judge by.
func TestOneListOfErrorTypes(t *testing.T) {
	for _, errType := range []string{
		activities.TypeInvalidInput, activities.TypeThrottled, activities.TypeUnavailable, activities.TypeAmbiguous,
		activities.TypeConditionFailed, activities.TypeConflict, activities.TypeNotFound, activities.TypeAccessDenied,
		activities.TypeTooLarge, activities.TypeWorkerStopping, activities.TypeWorkerLost, activities.TypeExpired, activities.TypeRequestFailed,
	} {
		require.True(t, jobchain.KnownType(errType), errType)
		require.Equal(t, errortype.Retryable(errType), !errortype.Final(errType), errType)
	}
}

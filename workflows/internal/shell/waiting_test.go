package shell

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/quiescence"
)

// failureOf is an error as the activities make it.
func failureOf(errType string, checkpoint any) error {
	return activities.Fail(errType, activities.Failure{Message: "as the test wants it", Checkpoint: checkpoint})
}

// arrived is an error as a workflow gets it.
func arrived(err error) error {
	c := temporal.GetDefaultFailureConverter()
	return c.FailureToError(c.ErrorToFailure(err))
}

// What an attempt knew is found wherever its end has it, and nothing is made up.
func TestWhatAnAttemptLeft(t *testing.T) {
	seen := quiescence.State{Polls: 7, Count: 3}
	for _, err := range []error{
		temporal.NewCanceledError(seen),
		temporal.NewHeartbeatTimeoutError(seen),
		failureOf(activities.TypeWorkerStopping, seen),
		failureOf(activities.TypeUnavailable, seen),
	} {
		left := leftBy[quiescence.State](arrived(err))
		require.NotNil(t, left, err)
		require.Equal(t, seen, *left, err)
	}
	for _, err := range []error{
		temporal.NewCanceledError(),
		temporal.NewCanceledError("ACTIVITY_ID_NOT_STARTED"),
		temporal.NewHeartbeatTimeoutError(),
		temporal.NewHeartbeatTimeoutError(nil),
		failureOf(activities.TypeNotFound, nil),
		errors.New("panic"),
	} {
		require.Nil(t, leftBy[quiescence.State](arrived(err)), err)
	}
}

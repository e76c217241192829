package shell

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
)

// upsert is one upsert of search attributes, and when it was.
type upsert struct {
	at      time.Duration
	trouble string
}

// showing runs a workflow that was started with its attributes, and lists its upserts.
func showing(t *testing.T, body func(ctx workflow.Context, a *Attributes)) []upsert {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	require.NoError(t, env.SetTypedSearchAttributesOnStart(activities.StartAttributes("OPEN", "Sample", "orders")))
	var upserts []upsert
	began := env.Now()
	env.OnUpsertTypedSearchAttributes(mock.MatchedBy(func(set temporal.SearchAttributes) bool {
		trouble, _ := set.GetKeyword(AttributeTrouble)
		// Mocks may match a call more than once.
		if u := (upsert{env.Now().Sub(began), trouble}); len(upserts) == 0 || upserts[len(upserts)-1] != u {
			upserts = append(upserts, u)
		}
		return true
	})).Return(nil)
	env.ExecuteWorkflow(func(ctx workflow.Context) error {
		var a Attributes
		body(ctx, &a)
		return nil
	})
	require.NoError(t, env.GetWorkflowError())
	return upserts
}

func shown(trouble string) Shown {
	return Shown{State: "OPEN", Type: "Sample", Target: "orders", Trouble: Trouble{Type: trouble}}
}

func TestHealthyWorkflowUpsertsNothingThatItWasStartedWith(t *testing.T) {
	require.Empty(t, showing(t, func(ctx workflow.Context, a *Attributes) {
		for range 10 {
			require.NoError(t, a.Show(ctx, shown("")))
			require.NoError(t, workflow.Sleep(ctx, time.Minute))
		}
	}))
}

func TestTroubleIsShownAtOnceAndThenOnceAMinuteAtMost(t *testing.T) {
	upserts := showing(t, func(ctx workflow.Context, a *Attributes) {
		for n := range 90 { // it changes every two seconds, for three minutes
			require.NoError(t, a.Show(ctx, shown([]string{"Throttled", "Unavailable", ""}[n%3])))
			require.NoError(t, workflow.Sleep(ctx, 2*time.Second))
		}
		require.NoError(t, a.Show(ctx, shown("")))
		require.NoError(t, workflow.Sleep(ctx, 2*time.Minute))
	})
	require.NotEmpty(t, upserts)
	require.Equal(t, upsert{0, "Throttled"}, upserts[0])
	for i, u := range upserts[1:] {
		require.GreaterOrEqual(t, u.at-upserts[i].at, time.Minute)
	}
	require.Empty(t, upserts[len(upserts)-1].trouble, "all is well in the end, and nothing has said so since")
}

func TestTroubleThatIsGoneGoesWithTheNextChangeOfState(t *testing.T) {
	upserts := showing(t, func(ctx workflow.Context, a *Attributes) {
		require.NoError(t, a.Show(ctx, shown("Throttled")))
		require.NoError(t, workflow.Sleep(ctx, 5*time.Second))
		require.NoError(t, a.Show(ctx, Shown{State: "DONE", Ended: true}))
	})
	require.Equal(t, []upsert{{0, "Throttled"}, {5 * time.Second, ""}}, upserts)
}

func TestTroubleHasATypeWhateverTheError(t *testing.T) {
	for want, err := range map[string]error{
		activities.TypeThrottled:   activities.Fail(activities.TypeThrottled, activities.Failure{Message: "slow down"}),
		activities.TypeUnavailable: temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil),
		"Error":                    errors.New("boom"),
	} {
		require.Equal(t, want, TroubleOf(err).Type)
	}
	require.Zero(t, TroubleOf(nil))
}

// poll stands for an activity that waits.
var poll = wire.Activity[string, string]{Name: "Sample.Poll"}

func TestAnActivityThatNoWorkerTakesIsTroubleAndIsScheduledAgain(t *testing.T) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterActivityWithOptions(func(string) (string, error) { return "found", nil }, activity.RegisterOptions{Name: poll.Name})
	never := temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_START, nil)
	env.OnActivity(poll.Name, mock.Anything).Return("", never).Times(2)
	env.OnActivity(poll.Name, mock.Anything).Return("found", nil)
	var told []Trouble
	env.ExecuteWorkflow(func(ctx workflow.Context) (string, error) {
		var w Waiting
		for {
			end, err := Wait[string](ctx, &w, activities.WaitOptions(), poll, "")
			if err != nil || end.Result != nil {
				require.Zero(t, w.Trouble())
				return *end.Result, err
			}
			told = append(told, w.Trouble())
		}
	})
	require.NoError(t, env.GetWorkflowError())
	missing := NoWorker("default-test-taskqueue")
	require.Equal(t, []Trouble{missing, missing}, told)
}

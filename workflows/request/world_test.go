package request

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/mock"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
)

// world is a request in the SDK's test suite, whose time passes at once where nothing
// happens.
type world struct {
	*testsuite.TestWorkflowEnvironment
	t     *testing.T
	began time.Time
	told  int // answers and refusals of updates
	asked int // updates

	mu     sync.Mutex
	starts map[string][]start // by activity
}

// start is how a try of an activity began.
type start struct {
	after time.Duration // since the beginning
	input string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	w := &world{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t, starts: map[string][]start{}}
	w.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeRequest})
	w.SetWorkflowRunTimeout(1000 * time.Hour)
	return w
}

// does registers an activity; try is its number from 1.
func (w *world) does(name string, do func(ctx context.Context, try int) (any, error)) *world {
	w.RegisterActivityWithOptions(func(ctx context.Context, input json.RawMessage) (any, error) {
		w.mu.Lock()
		w.starts[name] = append(w.starts[name], start{w.Now().Sub(w.began), string(input)})
		try := len(w.starts[name])
		w.mu.Unlock()
		return do(ctx, try)
	}, activity.RegisterOptions{Name: name})
	return w
}

// answers registers an activity that succeeds.
func (w *world) answers(name string, output any) *world {
	return w.does(name, func(context.Context, int) (any, error) { return output, nil })
}

// at has something happen so long after the beginning.
func (w *world) at(after time.Duration, do func()) *world {
	w.RegisterDelayedCallback(do, after)
	return w
}

// update sends one, and told gets its answer, or why it was refused.
func (w *world) update(name, input string, told func(answer any, err error)) {
	w.asked++
	w.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
		OnAccept:   func() {},
		OnReject:   func(err error) { w.told++; told(nil, err) },
		OnComplete: func(answer any, err error) { w.told++; told(answer, err) },
	}, json.RawMessage(input))
}

// updated is update for a message that is carried out; status is its answer.
func (w *world) updated(name, input string, told ...func(status *Status)) {
	w.update(name, input, func(answer any, err error) {
		require.NoError(w.t, err, "%s %s", name, input)
		for _, f := range told {
			f(answer.(*Status))
		}
	})
}

// refused is update for one that is refused with an error of this type.
func (w *world) refused(name, input, errType string, words ...string) {
	w.update(name, input, func(_ any, err error) {
		require.Error(w.t, err, "%s %s", name, input)
		require.Equal(w.t, errType, activities.TypeOf(err), "%v", err)
		for _, word := range words {
			require.ErrorContains(w.t, err, word)
		}
	})
}

// status asks for it.
func (w *world) status() (s Status) {
	w.t.Helper()
	value, err := w.QueryWorkflow(wire.QueryStatus)
	require.NoError(w.t, err)
	require.NoError(w.t, value.Get(&s))
	return s
}

// states are the states of the jobs, in order.
func (w *world) states() (states []jobchain.State) {
	for _, j := range w.status().Jobs {
		states = append(states, j.State)
	}
	return states
}

// run runs the request to its end.
func (w *world) run(document string) (Result, error) {
	w.t.Helper()
	w.began = w.Now()
	w.ExecuteWorkflow(wire.TypeRequest, json.RawMessage(document))
	require.True(w.t, w.IsWorkflowCompleted())
	require.Equal(w.t, w.asked, w.told, "each update is answered")
	if err := w.GetWorkflowError(); err != nil {
		return Result{}, err
	}
	var r Result
	require.NoError(w.t, w.GetWorkflowResult(&r))
	return r, nil
}

// failed runs it to an end with an error of this type, whose details are the status.
func (w *world) failed(document, errType string, words ...string) (s Status) {
	w.t.Helper()
	_, err := w.run(document)
	require.Error(w.t, err)
	require.Equal(w.t, errType, activities.TypeOf(err), "%v", err)
	for _, word := range words {
		require.ErrorContains(w.t, err, word)
	}
	var application *temporal.ApplicationError
	require.ErrorAs(w.t, err, &application)
	require.True(w.t, application.NonRetryable())
	require.NoError(w.t, application.Details(&s))
	return s
}

// second registers an activity that fails at first and then succeeds.
func (w *world) second(name string) *world {
	return w.does(name, func(_ context.Context, try int) (any, error) {
		if try == 1 {
			return nil, temporal.NewApplicationError("not yet", "Theirs")
		}
		return nil, nil
	})
}

// works registers an activity that succeeds after so long, or ends when it is asked to.
func (w *world) works(name string, takes time.Duration) *world {
	w.answers(name, nil)
	w.OnActivity(name, mock.Anything, mock.Anything).After(takes).Return(nil, nil)
	return w
}

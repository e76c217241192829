package shell

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/document"
)

// order is the input of the messages of a sample workflow.
type order struct {
	Count int    `json:"count"`
	Note  string `json:"note"`
}

var orders = func() {} // is called whenever one is read

func (o *order) Check(faults *document.Faults) {
	orders()
	if o.Count > 10 {
		faults.Add("count", "%d is above 10", o.Count)
	}
}

// shop is a sample workflow.
type shop struct {
	inbox Inbox
	sold  []order
	shut  bool
}

func usualOrder() order { return order{Count: 1, Note: "none"} }

func (s *shop) sell(_ workflow.Context, o order) (int, error) {
	s.sold = append(s.sold, o)
	return len(s.sold), nil
}

func (s *shop) listen(ctx workflow.Context) error {
	return s.inbox.Listen(ctx,
		OnUpdate("sell", "Sell.", s.sell).Over(usualOrder).
			If(func(ctx workflow.Context, _ order) error {
				if s.shut {
					return Refused(ctx, "sell", activities.TypeConflict, "the shop is shut", time.Second)
				}
				return nil
			}).
			AndSignal(func(ctx workflow.Context, o order) error {
				_, err := s.sell(ctx, o)
				return err
			}),
		OnSignal("shut", func(workflow.Context, struct{}) error {
			s.shut = true
			return nil
		}),
		OnQuery("sold", "All that was sold.", func() (string, error) {
			list := make([]string, len(s.sold))
			for i, o := range s.sold {
				list[i] = fmt.Sprint(o.Count, " ", o.Note)
			}
			return strings.Join(list, ", "), nil
		}),
		OnQueryOf("one", "One of them.", usualOrder, func(o order) (order, error) {
			if o.Count > len(s.sold) {
				return order{}, fmt.Errorf("no order %d", o.Count)
			}
			return s.sold[o.Count-1], nil
		}),
	)
}

// visit is what happens in the sample's nth second.
type visit func(*testing.T, *testsuite.TestWorkflowEnvironment)

// open runs the sample through the visits.
func open(t *testing.T, visits ...visit) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context) error {
		s := &shop{}
		if err := s.listen(ctx); err != nil {
			return err
		}
		s.inbox.Serve(ctx)
		return workflow.Sleep(ctx, time.Minute)
	}, workflow.RegisterOptions{Name: "Shop"})
	done := 0
	for i, v := range visits {
		env.RegisterDelayedCallback(func() { v(t, env); done++ }, time.Duration(i+1)*time.Second)
	}
	env.ExecuteWorkflow("Shop")
	require.NoError(t, env.GetWorkflowError())
	require.Equal(t, len(visits), done)
}

// sell sends the update, and told gets its answer or why it was refused.
func sell(raw string, told func(t *testing.T, answer any, err error)) visit {
	return func(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
		var input []any
		if raw != "" {
			input = []any{json.RawMessage(raw)}
		}
		env.UpdateWorkflow("sell", "", &testsuite.TestUpdateCallback{
			OnAccept:   func() {},
			OnReject:   func(err error) { told(t, nil, err) },
			OnComplete: func(a any, err error) { told(t, a, err) },
		}, input...)
	}
}

// send sends a signal.
func send(name, raw string) visit {
	return func(_ *testing.T, env *testsuite.TestWorkflowEnvironment) {
		env.SignalWorkflow(name, json.RawMessage(raw))
	}
}

func asked[Out any](t *testing.T, env *testsuite.TestWorkflowEnvironment, name string, input ...any) (out Out) {
	t.Helper()
	value, err := env.QueryWorkflow(name, input...)
	require.NoError(t, err)
	require.NoError(t, value.Get(&out))
	return out
}

func TestAnUpdateIsReadOnceOverItsDefaults(t *testing.T) {
	reads, answers := 0, []any{}
	orders = func() { reads++ }
	defer func() { orders = func() {} }()
	answered := func(t *testing.T, answer any, err error) {
		require.NoError(t, err)
		answers = append(answers, answer)
	}
	open(t,
		sell(`{"count":3}`, answered),
		func(t *testing.T, _ *testsuite.TestWorkflowEnvironment) {
			require.Equal(t, 1, reads, "the handler goes on with what the validator has read")
		},
		sell(`{"count":3}`, answered), // the same words, other bytes
		sell("", answered),
		func(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
			require.GreaterOrEqual(t, reads, 3)
			require.Equal(t, []any{1, 2, 3}, answers)
			require.Equal(t, "3 none, 3 none, 1 none", asked[string](t, env, "sold"))
		})
}

func TestWhatIsRefusedNamesMessageAndWorkflow(t *testing.T) {
	told := 0
	open(t,
		sell(`{"count":11,"more":1}`, func(t *testing.T, _ any, err error) {
			told++
			require.ErrorContains(t, err, "Shop sell default-test-workflow-id: more: unknown field; known are count, note; count: 11 is above 10")
			require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err))
		}),
		func(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
			_, err := env.QueryWorkflow("one", json.RawMessage(`{"count":"x"}`))
			require.ErrorContains(t, err, "Shop one default-test-workflow-id: count: a string where an integer is expected")
			_, err = env.QueryWorkflow("one")
			require.ErrorContains(t, err, "no order 1", "an input that is not given has the defaults")
		},
		send("shut", `{"now":true}`), // ignored
		sell(`{}`, func(t *testing.T, _ any, err error) {
			told++
			require.NoError(t, err)
		}),
		send("shut", `{}`),
		sell(`{}`, func(t *testing.T, _ any, err error) {
			told++
			require.ErrorContains(t, err, "Shop sell default-test-workflow-id: the shop is shut")
			require.Equal(t, activities.TypeConflict, activities.TypeOf(err))
		}))
	require.Equal(t, 3, told)
}

func TestASignalOfAnUpdatesNameHasItsInput(t *testing.T) {
	open(t,
		send("sell", `{"count":12}`), // ignored
		send("sell", `{"note":"by signal"}`),
		func(t *testing.T, env *testsuite.TestWorkflowEnvironment) {
			require.Equal(t, "1 by signal", asked[string](t, env, "sold"))
			require.Equal(t, order{1, "by signal"}, asked[order](t, env, "one", json.RawMessage(`{"count":1}`)))
		})
}

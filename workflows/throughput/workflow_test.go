package throughput

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

const ordersBudget = "dynamodb/eu-west-1/orders/write"

// budgetEnv runs Throughput; described is what DescribeTable says, in units, and
// may change.
func budgetEnv(t *testing.T, described *float64) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestWorkflowEnvironment()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: wire.ThroughputID(ordersBudget), TaskQueue: "q"})
	env.RegisterWorkflowWithOptions(Workflow, workflow.RegisterOptions{Name: wire.TypeThroughput})
	env.RegisterActivityWithOptions(func(context.Context, wire.ProvisionedInput) (wire.ProvisionedOutput, error) {
		if described == nil {
			return wire.ProvisionedOutput{}, temporal.NewNonRetryableApplicationError("not allowed", activities.TypeAccessDenied, nil)
		}
		return wire.ProvisionedOutput{UnitsPerSecond: throughput.Units(*described)}, nil
	}, activity.RegisterOptions{Name: wire.DescribeCapacity.Name})
	return env
}

// tell sends an update at an instant of the run; check gets its answer.
func tell(t *testing.T, env *testsuite.TestWorkflowEnvironment, at time.Duration, name, input string, check func(answer any, err error)) {
	t.Helper()
	env.RegisterDelayedCallback(func() {
		env.UpdateWorkflow(name, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { check(nil, err) },
			OnComplete: func(answer any, err error) {
				check(answer, err)
			},
		}, json.RawMessage(input))
	}, at)
}

func leaseOf(t *testing.T, answer any, err error) throughput.Lease {
	t.Helper()
	require.NoError(t, err)
	lease, ok := answer.(throughput.Lease)
	require.True(t, ok, "%T", answer)
	return lease
}

func runBudget(t *testing.T, env *testsuite.TestWorkflowEnvironment, input string) {
	t.Helper()
	env.SetTestTimeout(time.Minute)
	env.ExecuteWorkflow(wire.TypeThroughput, json.RawMessage(input))
	require.True(t, env.IsWorkflowCompleted())
}

func TestThroughputLeasesLooksUpAndEnds(t *testing.T) {
	units := 100.0
	env := budgetEnv(t, &units)
	began := env.Now()
	lease := `{"worker":"a","demand":{"3":300}}`
	tell(t, env, time.Second, wire.UpdateLease, lease, func(answer any, err error) {
		require.Equal(t, throughput.Units(98), leaseOf(t, answer, err).UnitsPerSecond, "98 % of what is provisioned")
	})
	env.RegisterDelayedCallback(func() { units = 50 }, 2*time.Second)
	tell(t, env, 25*time.Second, wire.UpdateLease, lease, func(any, error) {})
	tell(t, env, 30*time.Second, wire.UpdateLease, lease, func(answer any, err error) {
		require.Equal(t, throughput.Units(49), leaseOf(t, answer, err).UnitsPerSecond, "a change is noticed within 30 s")
	})
	tell(t, env, 31*time.Second, wire.UpdateRelease, `{"worker":"a"}`, func(_ any, err error) { require.NoError(t, err) })
	runBudget(t, env, `{"resource":"`+ordersBudget+`"}`)
	require.NoError(t, env.GetWorkflowError())
	require.InDelta(t, (30*time.Second + throughput.IdleEnd).Seconds(), env.Now().Sub(began).Seconds(), 5)
}

func TestThroughputPausesAndIsSet(t *testing.T) {
	units := 100.0
	env := budgetEnv(t, &units)
	began := env.Now()
	tell(t, env, time.Second, wire.UpdatePause, `{"reason":"maintenance","for":"1h"}`, func(answer any, err error) {
		require.NoError(t, err)
		require.True(t, answer.(*throughput.Status).Paused)
	})
	tell(t, env, 2*time.Second, wire.UpdateLease, `{"worker":"a"}`, func(answer any, err error) {
		require.True(t, leaseOf(t, answer, err).Paused)
	})
	tell(t, env, time.Hour+2*time.Second, wire.UpdateLease, `{"worker":"a","demand":{"3":1}}`, func(answer any, err error) {
		require.False(t, leaseOf(t, answer, err).Paused, "the pause is over by itself")
	})
	tell(t, env, time.Hour+3*time.Second, wire.UpdateSet, `{"unitsPerSecond":20,"utilization":0.5}`, func(answer any, err error) {
		require.NoError(t, err)
		require.Equal(t, throughput.Units(10), answer.(*throughput.Status).Effective)
	})
	tell(t, env, 5*time.Hour, wire.UpdateSet, `{"unitsPerSecond":0,"utilization":0.98}`, func(answer any, err error) {
		require.NoError(t, err, "set by hand, it is still there")
		require.False(t, answer.(*throughput.Status).SetByHand)
	})
	env.RegisterDelayedCallback(func() { env.SignalWorkflow(wire.UpdatePause, json.RawMessage(`{"for":60}`)) }, 5*time.Hour+time.Second)
	runBudget(t, env, `{"resource":"`+ordersBudget+`"}`)
	require.NoError(t, env.GetWorkflowError())
	require.InDelta(t, (5*time.Hour + throughput.IdleEnd).Seconds(), env.Now().Sub(began).Seconds(), 5, "the wrong signal was ignored")
}

func TestThroughputRefusesWithAllFaults(t *testing.T) {
	units := 1.0
	env := budgetEnv(t, &units)
	runBudget(t, env, `{"resource":"orders","utilization":2,"units":1}`)
	var application *temporal.ApplicationError
	require.ErrorAs(t, env.GetWorkflowError(), &application)
	require.Equal(t, activities.TypeInvalidInput, application.Type())
	for _, fault := range []string{"resource:", "utilization:", "units: unknown field"} {
		require.ErrorContains(t, application, fault)
	}

	env = budgetEnv(t, &units)
	for _, c := range [][2]string{
		{wire.UpdateLease, `{"demand":{"9":1}}`}, {wire.UpdateSet, `{}`}, {wire.UpdateSet, `{"utilization":0}`},
		{wire.UpdatePause, `{"for":"soon"}`}, {wire.UpdateRelease, `{}`}, {wire.UpdateLease, `{"worker":""}`}, {wire.UpdateLease, `{"worker":"a","throttled":-1}`},
	} {
		tell(t, env, time.Second, c[0], c[1], func(_ any, err error) {
			require.ErrorAs(t, err, &application, c[1])
			require.Equal(t, activities.TypeInvalidInput, application.Type())
			details, ok := activities.DetailsOf(err)
			require.True(t, ok)
			require.Equal(t, activities.ErrorDetails{Operation: "Throughput " + c[0], Target: wire.ThroughputID(ordersBudget)}, details)
		})
	}
	tell(t, env, time.Second, wire.UpdateLease, `{"demand":{"9":1,"1":-1,"2":"x"},"consumed":-2,"throttled":-1,"more":1}`, func(_ any, err error) {
		require.ErrorContains(t, err, "Throughput lease "+wire.ThroughputID(ordersBudget)+`: demand.1: -1 where a number of at least 0 is expected; `+
			`demand.2: "x" where a number is expected; demand.9: no such priority; there are 1 to 5; `+
			`consumed: -2 where a number of at least 0 is expected; more: unknown field; known are worker, demand, consumed, throttled, fastest, taskQueue, table, steady, holds, for; `+
			`worker: required; throttled: -1 where a number of at least 0 is expected`)
	})
	tell(t, env, time.Second, wire.UpdateSet, `{"unitsPerSecond":-5,"utilization":3,"for":"1s"}`, func(_ any, err error) {
		require.ErrorContains(t, err, "Throughput set "+wire.ThroughputID(ordersBudget)+`: unitsPerSecond: -5 where a number of at least 0 is expected; `+
			`for: unknown field; known are unitsPerSecond, utilization; utilization: 3 is not between 0.01 and 1`)
	})
	runBudget(t, env, `{"resource":"`+ordersBudget+`"}`)
	require.NoError(t, env.GetWorkflowError())
}

func TestThroughputGoesOnWithoutALookUp(t *testing.T) {
	env := budgetEnv(t, nil)
	tell(t, env, time.Second, wire.UpdateLease, `{"worker":"a","demand":{"3":5}}`, func(answer any, err error) {
		require.Equal(t, throughput.Unit, leaseOf(t, answer, err).UnitsPerSecond)
	})
	runBudget(t, env, `{"resource":"`+ordersBudget+`"}`)
	var status throughput.Status
	require.NoError(t, env.GetWorkflowResult(&status))
	require.Contains(t, status.LastError, "not allowed")
}

func TestThroughputOfTheControlPlaneIsFixed(t *testing.T) {
	env := budgetEnv(t, nil)
	tell(t, env, time.Second, wire.UpdateLease, `{"worker":"a","demand":{"3":500}}`, func(answer any, err error) {
		require.Equal(t, throughput.Units(100), leaseOf(t, answer, err).UnitsPerSecond)
	})
	runBudget(t, env, `{"resource":"dynamodb/eu-west-1/_control/read"}`)
	require.NoError(t, env.GetWorkflowError())
}

func TestThroughputContinuesAsNewWithItsState(t *testing.T) {
	units := 100.0
	env := budgetEnv(t, &units)
	tell(t, env, time.Second, wire.UpdateLease, `{"worker":"a","demand":{"3":300},"throttled":2,"consumed":50}`, func(any, error) {})
	tell(t, env, 2*time.Second, wire.UpdatePause, `{"reason":"r"}`, func(any, error) {})
	env.RegisterDelayedCallback(func() { env.SetContinueAsNewSuggested(true) }, 2500*time.Millisecond)
	tell(t, env, 3*time.Second, wire.UpdateRelease, `{"worker":"b"}`, func(any, error) {})
	runBudget(t, env, `{"resource":"`+ordersBudget+`"}`)
	var next *workflow.ContinueAsNewError
	require.True(t, errors.As(env.GetWorkflowError(), &next), "%v", env.GetWorkflowError())
	var carried struct{ Carried throughput.Owner }
	require.NoError(t, json.Unmarshal(next.Input.GetPayloads()[0].GetData(), &carried))
	require.True(t, carried.Carried.Paused)
	require.Equal(t, throughput.Units(100), carried.Carried.Provisioned)
	require.Len(t, carried.Carried.Holders, 1)

	again := budgetEnv(t, &units)
	again.SetContinuedExecutionRunID("the run before")
	tell(t, again, time.Second, wire.UpdateUnpause, `{}`, func(answer any, err error) {
		require.NoError(t, err)
		require.Equal(t, throughput.Units(100), answer.(*throughput.Status).Provisioned, "nothing is lost")
	})
	runBudget(t, again, string(next.Input.GetPayloads()[0].GetData()))
	require.NoError(t, again.GetWorkflowError())
}

// What the Web UI shows says why the ceiling is what it is.
func TestThroughputTellsItsCeilingInWords(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	ten := throughput.Units(10)
	for want, prepare := range map[string]func(*throughput.Owner){
		"Not known yet what is provisioned: every worker may consume **1 unit/s**.": func(*throughput.Owner) {},
		"No ceiling: on demand, until the service throttles.":                       func(o *throughput.Owner) { o.Describe(now, 0) },
		"Ceiling in force: **9.8 units/s** (10 provisioned, 0.98 of it used).":      func(o *throughput.Owner) { o.Describe(now, ten) },
		"Ceiling in force: **9.8 units/s** (10 set by hand, 0.98 of it used).":      func(o *throughput.Owner) { o.Set(now, &ten, nil, usualUtilization) },
		"Ceiling in force: **10 units/s**, learned from throttles of an on-demand table.": func(o *throughput.Owner) {
			o.Describe(now, 0)
			o.Lease(now, throughput.LeaseRequest{Worker: "a", Consumed: ten, Throttled: 1})
		},
	} {
		r := &budget{owner: newOwner(Input{Resource: ordersBudget, Utilization: usualUtilization}, now)}
		prepare(r.owner)
		status := r.owner.Status(now)
		require.Equal(t, want, r.ceiling(&status))
	}
}

// Whoever meets an owner that continues as new comes again in a second or two, and not
// as late as one that finds the owner asked by too many.
func TestAnOwnerThatContinuesAsNewIsNotTakenForABusyOne(t *testing.T) {
	require.True(t, busy(errors.New(refused+"ResourceExhausted: limit on number of concurrent in-flight updates has been reached")))
	require.True(t, busy(serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT, "too many")))
	require.False(t, busy(errors.New(refused+"ResourceExhausted: workflow operation can not be applied because workflow is closing")))
	require.False(t, busy(nil))
}

// TestABudgetKeepsNoMoreThanAThousandBytesOfAReason: it is carried from run to run.
func TestABudgetKeepsNoMoreThanAThousandBytesOfAReason(t *testing.T) {
	units := 100.0
	env := budgetEnv(t, &units)
	tell(t, env, time.Second, wire.UpdatePause, `{"reason":"`+strings.Repeat("€", 1000)+`","for":"1m"}`, func(answer any, err error) {
		require.NoError(t, err)
		require.Equal(t, strings.Repeat("€", 332)+"…", answer.(*throughput.Status).Reason)
	})
	runBudget(t, env, `{"resource":"`+ordersBudget+`"}`)
	require.NoError(t, env.GetWorkflowError())
}

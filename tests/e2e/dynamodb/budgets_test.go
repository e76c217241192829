package dynamodb_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/internal/throughput"
	"sluice/tests/harness"
)

// A sample is what the guard had counted at an instant between two.
type sample struct {
	from, to time.Time
	count    harness.Count
}

// watch samples what an operation consumes of a table until the returned function
// is called, which answers the samples.
func watch(t *testing.T, s *harness.Stack, operation, table string) func() []sample {
	t.Helper()
	take := func() sample {
		from := time.Now()
		c := s.Guard.Counters(t).Sum(harness.DynamoDB, operation, table)
		return sample{from, time.Now(), c}
	}
	var samples []sample
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				samples = append(samples, take())
			case <-ctx.Done():
				return
			}
		}
	}()
	end := func() { cancel(); <-ended }
	t.Cleanup(end)
	return func() []sample {
		end()
		return append(samples, take())
	}
}

// fastest is the highest rate of consumption over any window of at least this
// length.
func fastest(samples []sample, window time.Duration) (unitsPerSecond float64) {
	for i, first := range samples {
		for _, last := range samples[i+1:] {
			if length := last.to.Sub(first.from); length >= window {
				unitsPerSecond = max(unitsPerSecond, (last.count.Consumed-first.count.Consumed)/length.Seconds())
				break
			}
		}
	}
	return unitsPerSecond
}

// The whole fleet stays within the table: four workers, eight workflows, one
// worker killed on the way. An eighth of the case's 2,000 calls show it;
// SLUICE_FULL_CASES=1 makes all of them.
func TestCaseD06FourWorkersShareOneBudget(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	const writes, workflows = 20, 8
	each := 31
	if os.Getenv("SLUICE_FULL_CASES") == "1" {
		each = 250
	}
	name := s.NewTable(harness.Table{Read: writes, Write: writes})
	var workers []*harness.Worker
	for range 4 {
		workers = append(workers, s.StartWorker())
	}
	call := caller(t, s)
	began := time.Now()
	samples := watch(t, s, "PutItem", name)
	var runs []client.WorkflowRun
	for i := range workflows {
		var puts []string
		for n := range each {
			puts = append(puts, fmt.Sprintf(`{"TableName":"%s","Item":{"id":{"S":"%d-%d"}}}`, name, i, n))
		}
		runs = append(runs, call("PutItem", 0, puts...))
	}
	harness.AwaitFor(t, 3*time.Minute, "a third is written", func(context.Context) error {
		if n := s.Guard.Counters(t).Sum(harness.DynamoDB, "PutItem", name).Calls; n < workflows*each/3 {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	workers[0].Kill()
	for _, run := range runs {
		outputs(t, run)
	}
	took := time.Since(began)
	most := fastest(samples(), 10*time.Second)
	c := s.Guard.Counters(t).Sum(harness.DynamoDB, "PutItem", name)
	t.Logf("%d calls, %d throttled, %.1f units/s over %.1f s, at most %.2f over 10 s", c.Calls, c.Throttled, c.Consumed/took.Seconds(), took.Seconds(), most)
	// The share, and what workers may have saved up before the window: half a second of it.
	require.LessOrEqual(t, most, 0.98*writes*(1+0.5/10)+0.1, "never more than the table has, over any ten seconds")
	require.LessOrEqual(t, c.Throttled, 1+c.Calls/100, "and hardly ever throttled")
	// The killed worker's calls are noticed by their heartbeat, its share when its lease ends.
	require.Less(t, took, time.Duration(workflows*each/writes)*2*time.Second+40*time.Second, "but not much slower either")
	s.Record("throughput/"+budget(s, name, "write"), "Throughput", "four-workers-one-killed")
}

func index(name, attribute string, units int64) types.GlobalSecondaryIndex {
	return types.GlobalSecondaryIndex{
		IndexName:             aws.String(name),
		KeySchema:             []types.KeySchemaElement{{AttributeName: aws.String(attribute), KeyType: types.KeyTypeHash}},
		Projection:            &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: &units, WriteCapacityUnits: &units},
	}
}

// The slowest budget sets the pace, four times as fast as in the case: a table of
// 40 units a second with two indexes of 20.
func TestCaseD18AnIndexOfLessCapacitySetsThePace(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	const rate, n = 20, 120
	name := s.NewTable(harness.Table{Read: 40, Write: 40, Indexes: []types.GlobalSecondaryIndex{index("byA", "a", rate), index("byB", "b", rate)}})
	s.StartWorker()
	call := caller(t, s)
	for _, c := range []struct {
		touches, more string
		throttled     int
	}{
		// What goes before the indexes are looked up, as it does when that takes
		// seconds, is at most what they take in one.
		{"both indexes", `,"a":{"S":"x"},"b":{"S":"x"}`, rate},
		{"one index", `,"a":{"S":"y"}`, n / 20},
	} {
		documents := puts(name, n, c.more)
		for i := range documents { // items of their own: a new key of an index costs it twice
			documents[i] = strings.Replace(documents[i], `"id":{"S":"`, `"id":{"S":"`+c.touches+` `, 1)
		}
		before := s.Guard.Counters(t).Sum(harness.DynamoDB, "PutItem", name)
		began := time.Now()
		outputs(t, call("PutItem", 0, documents...))
		took := time.Since(began).Seconds()
		after := s.Guard.Counters(t).Sum(harness.DynamoDB, "PutItem", name)
		throttled := after.Throttled - before.Throttled
		t.Logf("%s: %d puts, %d throttled, %.1f puts/s", c.touches, n, throttled, n/took)
		require.LessOrEqual(t, n/took, rate*1.1, c.touches)
		require.LessOrEqual(t, throttled, c.throttled, c.touches)
	}
	st, err := status(t.Context(), s, name+"/index/byB", "write")
	require.NoError(t, err)
	require.Equal(t, throughput.Units(rate), st.Provisioned, "an index has a budget of its own")
}

// An on-demand table has no ceiling until the service throttles; then it has what
// went through.
func TestCaseD12OnDemandLearnsItsCeiling(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{})
	s.Guard.SetLimits(t, harness.Limits{DynamoDB: &harness.DynamoDBLimits{Tables: map[string]harness.TableLimits{name: {Write: 8}}}})
	s.StartWorker()
	call := caller(t, s)
	outputs(t, call("PutItem", 0, puts(name, 5, "")...))
	st := awaitStatus(t, s, name, "write", "a lease without limit", func(st throughput.Status) bool { return len(st.Leases) == 1 })
	require.Zero(t, st.Effective)
	require.True(t, st.Leases[0].Unlimited)

	run := call("PutItem", 0, puts(name, 120, "")...) // at more than eight a second on any machine
	st = awaitStatus(t, s, name, "write", "a ceiling is learned", func(st throughput.Status) bool { return st.Effective > 0 })
	outputs(t, run)
	require.Zero(t, st.Provisioned)
	require.Positive(t, st.ThrottledPerMinute)
	s.Record("throughput/"+budget(s, name, "write"), "Throughput", "on-demand-learns-a-ceiling")
}

// Where the service does not say what is provisioned, the fleet goes on slowly,
// and the reason is told.
func TestAnOwnerThatMayNotDescribeGoesOnSlowly(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 100, Write: 100})
	s.Guard.Inject(t, harness.Fault{Service: "dynamodb", Operation: "DescribeTable", Target: name, Status: 400, Code: "AccessDeniedException"})
	s.StartWorker()
	call := caller(t, s)
	outputs(t, call("PutItem", 0, puts(name, 3, "")...))
	outputs(t, call("ListTables", 0, `{}`))
	st := awaitStatus(t, s, name, "write", "a lease", func(st throughput.Status) bool { return len(st.Leases) == 1 })
	require.Contains(t, st.LastError, "AccessDenied")
	require.Equal(t, throughput.Unit, st.Leases[0].UnitsPerSecond)
	s.Record("throughput/"+budget(s, name, "write"), "Throughput", "not-allowed-to-describe")
	s.Record("throughput/"+budget(s, "_control", "read"), "Throughput", "control-plane")
}

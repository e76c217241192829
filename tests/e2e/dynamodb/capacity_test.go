package dynamodb_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"

	"sluice/activities/dynamodb"
	"sluice/internal/connect"
	"sluice/internal/throughput"
	"sluice/internal/wire"
	"sluice/tests/harness"
	budgets "sluice/workflows/throughput"
)

// One throttle on an on-demand table hardly costs a burst anything: what is learned
// from it begins where the table was, and is forgotten in seconds.
func TestOneThrottleDoesNotLimitTheFleetForMinutes(t *testing.T) {
	s := harness.Start(t)
	s.StartWorker()
	call := caller(t, s)
	burst := func(throttled bool) time.Duration {
		name := s.NewTable(harness.Table{})
		outputs(t, call("PutItem", 0, puts(name, 5, "")...))
		if throttled {
			s.Guard.Inject(t, harness.Fault{Service: harness.DynamoDB, Operation: "PutItem", Target: name, From: 10, Count: 1, Status: 400, Code: "ThrottlingException"})
		}
		began := time.Now()
		outputs(t, call("PutItem", 0, puts(name, 500, "")...))
		return time.Since(began)
	}
	without, with := burst(false), burst(true)
	t.Logf("500 puts: %v without a throttle, %v with one", without, with)
	require.LessOrEqual(t, with, 2*without)
}

// When the service has throttled everything for a while, what waits goes through
// soon after.
func TestThrottlesOfTwentySecondsAreOverWithinAMinute(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	call := caller(t, s)
	name := s.NewTable(harness.Table{})
	outputs(t, call("PutItem", 0, puts(name, 400, "")...))
	s.Guard.Inject(t, harness.Fault{Service: harness.DynamoDB, Operation: "PutItem", Target: name, For: "20s", Status: 400, Code: "ThrottlingException"})
	ends := time.Now().Add(20 * time.Second)
	outputs(t, call("PutItem", 0, puts(name, 200, "")...))
	t.Logf("200 puts done %v after the throttles", time.Since(ends))
	require.Less(t, time.Since(ends), time.Minute)
	s.Record("throughput/"+budget(s, name, "write"), "Throughput", "throttled-for-twenty-seconds")
}

// between is what was consumed a second from one instant to another, as far as it
// was looked at; ok is false where that is too short.
func between(samples []sample, from, to time.Time) (unitsPerSecond float64, ok bool) {
	var first, last *sample
	for i := range samples {
		at := &samples[i]
		if at.from.Before(from) || at.to.After(to) {
			continue
		}
		if first == nil {
			first = at
		}
		last = at
	}
	if first == nil || last.to.Sub(first.from) < 3*time.Second {
		return 0, false
	}
	return (last.count.Consumed - first.count.Consumed) / last.from.Sub(first.to).Seconds(), true
}

// However slow the first look at a table is, the fleet uses what it has from five
// seconds after that is known.
func TestASlowFirstLookIsNoMinuteOfNothing(t *testing.T) {
	t.Parallel()
	const ceiling = 19.6
	for name, fault := range map[string]harness.Fault{
		"a first answer after eight seconds": {Latency: "8s", Count: 1},
		"four times 500":                     {Status: 500, Code: "InternalServerError", Count: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t)
			table := s.NewTable(harness.Table{Read: 20, Write: 20})
			fault.Service, fault.Operation, fault.Target = harness.DynamoDB, "DescribeTable", table
			s.Guard.Inject(t, fault)
			s.StartWorker()
			samples := watch(t, s, "PutItem", table)
			run := caller(t, s)("PutItem", 0, puts(table, 300, "")...)
			awaitStatus(t, s, table, "write", "the capacity is known", func(st throughput.Status) bool { return st.Known })
			known := time.Now()
			outputs(t, run)
			used, ok := between(samples(), known.Add(5*time.Second), time.Now().Add(-2*time.Second))
			require.True(t, ok, "it takes a quarter of a minute")
			t.Logf("%.1f units a second of %.1f", used, ceiling)
			require.GreaterOrEqual(t, used, 0.9*ceiling)
		})
	}
}

// A put that costs far more than the table has a second is paid for while the next
// one waits at Temporal, for longer than a worker keeps a share that it doesn't use:
// 381 units at 15.68 a second. SLUICE_FULL_CASES=1 has them paid at 4.9.
func TestADebtIsPaidWhileTheCallerWaits(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	units := int64(16)
	if os.Getenv("SLUICE_FULL_CASES") == "1" {
		units = 5
	}
	name := s.NewTable(harness.Table{Read: 5, Write: units})
	want := 381 / (0.98 * float64(units))
	s.StartWorker()
	call := caller(t, s)
	large := `,"data":{"S":"` + strings.Repeat("x", 390_000) + `"}`
	outputs(t, call("PutItem", 0, puts(name, 1, large)...))
	paying := time.Now()
	outputs(t, call("PutItem", 0, puts(name, 1, large)...))
	took := time.Since(paying).Seconds()
	t.Logf("the second put after %.1f s of %.1f", took, want)
	require.InDelta(t, want, took, 0.1*want)
}

// A budget belongs to no fleet: whoever used it first may go, and workers of another
// task queue have all of it.
func TestABudgetOutlivesTheFleetThatUsedItFirst(t *testing.T) {
	t.Parallel()
	const ceiling = 19.6
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 20, Write: 20})
	first := s.StartWorker()
	outputs(t, caller(t, s)("PutItem", 0, puts(name, 1, "")...))
	require.Zero(t, first.Stop(t))

	other := s.Name("other")
	s.StartWorker("SLUICE_TASK_QUEUE=" + other)
	there := *s
	there.TaskQueue = other
	end := watch(t, s, "PutItem", name)
	began := time.Now()
	outputs(t, caller(t, &there)("PutItem", 0, puts(name, 200, "")...))
	ended, samples, used := time.Now(), end(), 0.0
	for from := began; from.Before(began.Add(30 * time.Second)); from = from.Add(time.Second) {
		rate, _ := between(samples, from, from.Add(5*time.Second))
		used = max(used, rate)
	}
	t.Logf("200 puts in %v, %.1f units a second of %.1f", ended.Sub(began), used, ceiling)
	require.GreaterOrEqual(t, used, 0.9*ceiling)
}

// putter puts items through the scheduler of a worker's own in this process, as an
// activity does, and comes again where it says so, as Temporal does.
func putter(t *testing.T, s *harness.Stack, table string) func(ctx context.Context, id string) error {
	t.Helper()
	db := dynamodb.New(dynamodb.Config{
		Client: s.DynamoDB, Place: s.TaskQueue + "/us-east-1", Worker: s.Name("worker"), TaskQueue: s.TaskQueue,
		Owner:  budgets.Owners{Client: s.Client, TaskQueue: wire.ThroughputQueue(s.TaskQueue)},
		Logger: connect.TemporalLogger(zap.NewNop()),
	})
	t.Cleanup(db.Close)
	return func(ctx context.Context, id string) error {
		document := fmt.Appendf(nil, `{"TableName":%q,"Item":{"id":{"S":%q}}}`, table, id)
		for {
			_, err := db.Call(ctx, "PutItem", json.RawMessage(document), 0)
			var application *temporal.ApplicationError
			if err == nil || !errors.As(err, &application) || application.NonRetryable() {
				return err
			}
			select {
			case <-time.After(application.NextRetryDelay()):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
}

// One key that a partition takes less of than the table has holds back the calls for
// itself; the others have what it leaves.
func TestAHotKeyDoesNotDragTheTableDown(t *testing.T) {
	t.Parallel()
	const ceiling, hot = 49.0, 5
	s := harness.Start(t)
	name := s.NewTable(harness.Table{Read: 50, Write: 50})
	s.Guard.SetLimits(t, harness.Limits{DynamoDB: &harness.DynamoDBLimits{Keys: map[string]harness.TableLimits{name: {Write: hot}}}})
	s.StartWorker()
	put := putter(t, s, name)
	ctx, end := context.WithCancel(t.Context())
	var all sync.WaitGroup
	var mu sync.Mutex
	done := map[bool]int{}
	for i := range 100 {
		all.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				id := fmt.Sprintf("%d-%d", i, n)
				if i < 20 {
					id = "hot"
				}
				if put(ctx, id) == nil {
					mu.Lock()
					done[i < 20]++
					mu.Unlock()
				}
			}
		})
	}
	count := func() (hots, others float64, at time.Time) {
		mu.Lock()
		defer mu.Unlock()
		return float64(done[true]), float64(done[false]), time.Now()
	}
	harness.Await(t, "the key is known to be hot", func(context.Context) error {
		if n := s.Guard.Counters(t).Sum(harness.DynamoDB, "PutItem", name).Throttled; n < 10 {
			return fmt.Errorf("%d throttled", n)
		}
		return nil
	})
	<-time.After(5 * time.Second) // it is learned what the key takes
	hotBefore, othersBefore, from := count()
	<-time.After(15 * time.Second)
	hotAfter, othersAfter, to := count()
	end()
	all.Wait()
	hotRate, othersRate := (hotAfter-hotBefore)/to.Sub(from).Seconds(), (othersAfter-othersBefore)/to.Sub(from).Seconds()
	t.Logf("%.1f a second of the hot key, %.1f of the others", hotRate, othersRate)
	require.GreaterOrEqual(t, othersRate, 0.8*(ceiling-hotRate))
	st, err := status(t.Context(), s, name, "write")
	require.NoError(t, err)
	require.Zero(t, st.ThrottledPerMinute, "the table was short of nothing")
}

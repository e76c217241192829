package scheduler

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/internal/throughput"
)

// fixed is an owner that gives one worker the same shares for ever; what it does
// not know has no limit.
type fixed map[string]float64

func (f fixed) Lease(_ context.Context, resource string, _ throughput.LeaseRequest) (throughput.Lease, error) {
	now := time.Now()
	lease := throughput.Lease{AsOf: now, ExpiresAt: now.Add(throughput.LeaseTime)}
	units, known := f[resource]
	lease.UnitsPerSecond, lease.Unlimited = throughput.Units(units), !known
	return lease, nil
}

func (fixed) Release(context.Context, string, string) error { return nil }

// scheduling runs a test in virtual time with a scheduler of this owner.
func scheduling(t *testing.T, owner Owner, test func(t *testing.T, s *Scheduler)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Place: "r", Worker: "w", Owner: owner, Logger: quiet{}, Metrics: client.MetricsNopHandler})
		defer s.Close()
		test(t, s)
	})
}

func requestFor(t *testing.T, operation, document string) throughput.Request {
	t.Helper()
	r, err := throughput.ParseRequest(operation, json.RawMessage(document))
	require.NoError(t, err)
	return r
}

// through has a call wait for its turn as Temporal would have it: what is sent
// back comes again after its delay, with the place it had.
func through(ctx context.Context, s *Scheduler, r throughput.Request, priority int, o Outcome) error {
	arrived := time.Now()
	for {
		ticket, err := s.Acquire(ctx, r, throughput.Class(priority), arrived)
		var l *Later
		if errors.As(err, &l) {
			time.Sleep(l.Delay)
			continue
		}
		if err == nil {
			s.Settle(ticket, o)
		}
		return err
	}
}

func costs(units float64) Outcome {
	return Outcome{Known: true, Charges: []throughput.Charge{{Table: "orders", Units: throughput.Units(units)}}}
}

const ordersRead, ordersWrite = "dynamodb/r/orders/read", "dynamodb/r/orders/write"

func TestCaseD05ChargesWhatTheAnswerSays(t *testing.T) {
	for _, c := range []struct {
		name, document string
		calls          int
		units          float64
		seconds        float64
	}{
		{"single reads of 4,097 bytes", `{"TableName":"orders","ConsistentRead":true}`, 100, 2, 25},
		{"pages of eight", `{"TableName":"orders","ConsistentRead":true,"Limit":8}`, 13, 9, 13.5},
		{"eventually consistent", `{"TableName":"orders"}`, 100, 1, 12.5},
	} {
		operation := "GetItem"
		if strings.Contains(c.document, "Limit") {
			operation = "Query"
		}
		scheduling(t, fixed{ordersRead: 8}, func(t *testing.T, s *Scheduler) {
			start := time.Now()
			for range c.calls {
				require.NoError(t, through(t.Context(), s, requestFor(t, operation, c.document), 0, costs(c.units)))
			}
			require.InDelta(t, c.seconds, time.Since(start).Seconds(), 1, c.name)
		})
	}
}

func TestCaseD05AnExpensiveCallIsPaidBackByWaiting(t *testing.T) {
	scheduling(t, fixed{ordersRead: 8}, func(t *testing.T, s *Scheduler) {
		r := requestFor(t, "GetItem", `{"TableName":"orders"}`)
		require.NoError(t, through(t.Context(), s, r, 0, costs(40)))
		start := time.Now()
		require.NoError(t, through(t.Context(), s, r, 0, costs(1)))
		require.InDelta(t, 5, time.Since(start).Seconds(), 0.1)
	})
}

// What was refused for want of capacity was not consumed, whatever it was thought
// to cost: the next call does not wait for it.
func TestARefusedCallIsChargedAUnit(t *testing.T) {
	scheduling(t, fixed{ordersRead: 10}, func(t *testing.T, s *Scheduler) {
		scan := requestFor(t, "Scan", `{"TableName":"orders"}`) // 128 units, by its size
		require.NoError(t, through(t.Context(), s, scan, 0, Outcome{Throttled: 1}))
		start := time.Now()
		require.NoError(t, through(t.Context(), s, requestFor(t, "GetItem", `{"TableName":"orders"}`), 0, costs(1)))
		require.InDelta(t, 0.1, time.Since(start).Seconds(), 0.05)
	})
}

func TestCaseD07FailedConditionsAreCharged(t *testing.T) {
	scheduling(t, fixed{ordersWrite: 10}, func(t *testing.T, s *Scheduler) {
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{"id":{"S":"`+strings.Repeat("x", 1500)+`"}},"ConditionExpression":"attribute_exists(id)"}`)
		start := time.Now()
		for range 300 {
			require.NoError(t, through(t.Context(), s, r, 0, Outcome{}))
		}
		require.InDelta(t, 60, time.Since(start).Seconds(), 1)
	})
}

func TestCaseD10AnUrgentCallIsNotHeldUpByNewerOnes(t *testing.T) {
	scheduling(t, fixed{ordersWrite: 10}, func(t *testing.T, s *Scheduler) {
		ctx, cancel := context.WithCancel(t.Context())
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		var bulk sync.WaitGroup
		for i := range 1000 {
			bulk.Go(func() {
				time.Sleep(time.Duration(i) * 20 * time.Millisecond)
				_ = through(ctx, s, r, 5, costs(1))
			})
		}
		time.Sleep(5 * time.Second)
		arrived := time.Now()
		for throttles := range 4 {
			ticket, err := s.Acquire(ctx, r, throughput.Class(1), arrived)
			require.NoError(t, err)
			if throttles < 3 {
				s.Settle(ticket, Outcome{Throttled: 1})
				continue
			}
			s.Settle(ticket, costs(1))
		}
		require.Less(t, time.Since(arrived), 3*time.Second)
		cancel()
		bulk.Wait()
	})
}

func TestCaseD10BulkKeepsItsTenth(t *testing.T) {
	scheduling(t, fixed{ordersWrite: 10}, func(t *testing.T, s *Scheduler) {
		ctx, cancel := context.WithCancel(t.Context())
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		var mu sync.Mutex
		done := map[int]int{}
		var all sync.WaitGroup
		for priority, workers := range map[int]int{1: 30, 5: 30} {
			for range workers {
				all.Go(func() {
					for through(ctx, s, r, priority, costs(1)) == nil {
						mu.Lock()
						done[priority]++
						mu.Unlock()
					}
				})
			}
		}
		time.Sleep(100 * time.Second)
		mu.Lock()
		urgent, bulk := done[1], done[5]
		mu.Unlock()
		cancel()
		all.Wait()
		require.InDelta(t, 1000, urgent+bulk, 20, "all of the budget is used")
		require.InDelta(t, 100, bulk, 25, "a tenth is kept for the lower class")
	})
}

func TestCaseD12WithoutCeilingEverythingGoes(t *testing.T) {
	scheduling(t, fixed{}, func(t *testing.T, s *Scheduler) {
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		start := time.Now()
		for range 100 {
			require.NoError(t, through(t.Context(), s, r, 0, costs(1)))
		}
		require.Zero(t, time.Since(start))
	})
}

func TestCaseD18TheSlowestIndexSetsThePace(t *testing.T) {
	index := func(name string, units float64) throughput.Charge {
		return throughput.Charge{Table: "orders", Index: name, Units: throughput.Units(units)}
	}
	own := throughput.Charge{Table: "orders", Units: throughput.Unit}
	for name, o := range map[string]Outcome{
		"both indexes": {Known: true, Charges: []throughput.Charge{own, index("i", 1), index("j", 1)}},
		"only one":     {Known: true, Charges: []throughput.Charge{own, index("i", 1)}},
	} {
		owner := fixed{ordersWrite: 10, "dynamodb/r/orders/index/i/write": 5, "dynamodb/r/orders/index/j/write": 5}
		scheduling(t, owner, func(t *testing.T, s *Scheduler) {
			r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
			start := time.Now()
			for range 100 {
				require.NoError(t, through(t.Context(), s, r, 0, o))
			}
			require.InDelta(t, 20, time.Since(start).Seconds(), 1.5, name)
		})
	}
}

func TestBatchOverTwoTablesIsChargedToEach(t *testing.T) {
	scheduling(t, fixed{"dynamodb/r/a/read": 10, "dynamodb/r/b/read": 2}, func(t *testing.T, s *Scheduler) {
		r := requestFor(t, "BatchGetItem", `{"RequestItems":{"a":{"Keys":[{},{}]},"b":{"Keys":[{},{}]}}}`)
		o := Outcome{Known: true, Charges: []throughput.Charge{{Table: "a", Units: 1000}, {Table: "b", Units: 1000}}}
		start := time.Now()
		for range 20 {
			require.NoError(t, through(t.Context(), s, r, 0, o))
		}
		require.InDelta(t, 10, time.Since(start).Seconds(), 1)
	})
}

func TestACancelledCallLeavesTheQueue(t *testing.T) {
	scheduling(t, fixed{ordersWrite: 1}, func(t *testing.T, s *Scheduler) {
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		require.NoError(t, through(t.Context(), s, r, 0, costs(1)))
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			_, err := s.Acquire(ctx, r, 2, time.Now())
			ended <- err
		}()
		synctest.Wait()
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
		require.Zero(t, s.accounts[accountName{throughput.Resource{Place: "r", Table: "orders", Direction: throughput.Write}, ""}].line.waiting)
	})
}

func TestALongWaitIsTemporals(t *testing.T) {
	scheduling(t, fixed{ordersWrite: 5}, func(t *testing.T, s *Scheduler) {
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		var delays []time.Duration
		var mu sync.Mutex
		var all sync.WaitGroup
		arrived := time.Now()
		require.NoError(t, through(t.Context(), s, r, 0, costs(1))) // the lease is there
		for range 100 {
			all.Go(func() {
				ticket, err := s.Acquire(t.Context(), r, 2, arrived)
				if err == nil {
					s.Settle(ticket, costs(1))
					return
				}
				var l *Later
				if errors.As(err, &l) {
					mu.Lock()
					delays = append(delays, l.Delay)
					mu.Unlock()
				}
			})
		}
		all.Wait()
		require.Less(t, time.Since(arrived), 3*time.Second, "nobody waits longer here")
		require.Greater(t, len(delays), 85)
		longest := time.Duration(0)
		for _, d := range delays {
			require.GreaterOrEqual(t, d, time.Second)
			longest = max(longest, d)
		}
		require.InDelta(t, 16, longest.Seconds(), 4, "spread over the time that the backlog takes")
	})
}

// Waiting takes slots of the worker, so no more than so many wait in it; the rest
// waits at Temporal.
func TestSlotsSpentWaitingAreBounded(t *testing.T) {
	scheduling(t, fixed{ordersWrite: 100}, func(t *testing.T, s *Scheduler) {
		s.slots = 4
		ctx, cancel := context.WithCancel(t.Context())
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		require.NoError(t, through(ctx, s, r, 0, costs(20))) // a fifth of a second
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { _, _ = s.Acquire(ctx, r, 2, time.Now()) })
		}
		synctest.Wait()
		_, err := s.Acquire(ctx, r, 2, time.Now())
		var l *Later
		require.ErrorAs(t, err, &l)
		cancel()
		all.Wait()
	})
}

// lost is an owner that answers for a while and then is out of reach.
type lost struct {
	fixed
	until time.Time
}

func (l *lost) Lease(ctx context.Context, resource string, r throughput.LeaseRequest) (throughput.Lease, error) {
	if time.Now().After(l.until) {
		return throughput.Lease{}, errors.New("no answer")
	}
	return l.fixed.Lease(ctx, resource, r)
}

func TestAnOwnerOutOfReachLeavesLessAndLess(t *testing.T) {
	owner := &lost{fixed: fixed{ordersWrite: 40}}
	scheduling(t, owner, func(t *testing.T, s *Scheduler) {
		owner.until = time.Now().Add(time.Second)
		ctx, cancel := context.WithCancel(t.Context())
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		var mu sync.Mutex
		done := 0
		var all sync.WaitGroup
		for range 20 {
			all.Go(func() {
				for through(ctx, s, r, 0, costs(1)) == nil {
					mu.Lock()
					done++
					mu.Unlock()
				}
			})
		}
		took := func(d time.Duration) float64 {
			mu.Lock()
			before := done
			mu.Unlock()
			time.Sleep(d)
			mu.Lock()
			defer mu.Unlock()
			return float64(done-before) / d.Seconds()
		}
		require.InDelta(t, 40, took(15*time.Second), 2, "its share for one lease more")
		time.Sleep(2 * time.Second)
		require.InDelta(t, 20, took(6*time.Second), 2, "then half")
		time.Sleep(2 * time.Minute)
		require.InDelta(t, 1, took(30*time.Second), 0.2, "and a unit a second in the end")
		cancel()
		all.Wait()
	})
}

func TestAWorkerWithoutFirstLeaseGoesSlowly(t *testing.T) {
	scheduling(t, &lost{}, func(t *testing.T, s *Scheduler) {
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		start := time.Now()
		for range 10 {
			require.NoError(t, through(t.Context(), s, r, 0, costs(1)))
		}
		require.InDelta(t, 9, time.Since(start).Seconds(), 1)
	})
}

func TestPausedCallsGoBackToTemporal(t *testing.T) {
	scheduling(t, pausedOwner{}, func(t *testing.T, s *Scheduler) {
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		_, err := s.Acquire(t.Context(), r, 2, time.Now())
		var l *Later
		require.ErrorAs(t, err, &l)
		require.Equal(t, pausedFor, l.Delay)
		require.ErrorContains(t, err, "paused")
	})
}

// What is sent back to Temporal waits for the slowest of its budgets, and is told
// which that is.
func TestADeferredCallWaitsForTheSlowestOfItsBudgets(t *testing.T) {
	owner := fixed{ordersWrite: 100, "dynamodb/r/orders/index/i/write": 5}
	scheduling(t, owner, func(t *testing.T, s *Scheduler) {
		r := requestFor(t, "PutItem", `{"TableName":"orders","Item":{}}`)
		o := Outcome{Known: true, Charges: []throughput.Charge{{Table: "orders", Units: throughput.Unit}, {Table: "orders", Index: "i", Units: throughput.Unit}}}
		for range 2 {
			require.NoError(t, through(t.Context(), s, r, 0, o)) // the index is known
		}
		ctx, cancel := context.WithCancel(t.Context())
		var delays []time.Duration
		var mu sync.Mutex
		var all sync.WaitGroup
		for range 60 {
			all.Go(func() {
				_, err := s.Acquire(ctx, r, 2, time.Now())
				var l *Later
				if errors.As(err, &l) {
					mu.Lock()
					delays = append(delays, l.Delay)
					mu.Unlock()
					require.ErrorContains(t, l, "no capacity left of dynamodb/r/orders/index/i/write")
				}
			})
		}
		synctest.Wait()
		cancel()
		all.Wait()
		require.InDelta(t, 60/5*0.8, slices.Max(delays).Seconds(), 2.5, "a little before its turn")
		index := s.accounts[accountName{throughput.Resource{Place: "r", Table: "orders", Index: "i", Direction: throughput.Write}, ""}]
		require.Len(t, index.deferred, len(delays), "and is demand on both")
	})
}

type pausedOwner struct{ fixed }

func (pausedOwner) Lease(context.Context, string, throughput.LeaseRequest) (throughput.Lease, error) {
	now := time.Now()
	return throughput.Lease{AsOf: now, ExpiresAt: now.Add(throughput.LeaseTime), Paused: true}, nil
}

// The cost of a call that has nothing to wait for.
func BenchmarkSchedulerUncontended(b *testing.B) {
	s := New(Config{Place: "r", Worker: "w", Owner: fixed{}, Logger: quiet{}})
	defer s.Close()
	r, err := throughput.ParseRequest("PutItem", json.RawMessage(`{"TableName":"orders","Item":{}}`))
	if err != nil {
		b.Fatal(err)
	}
	if err := through(b.Context(), s, r, 0, costs(1)); err != nil {
		b.Fatal(err)
	}
	o := costs(1)
	b.ReportAllocs()
	for b.Loop() {
		ticket, err := s.Acquire(b.Context(), r, 2, time.Time{})
		if err != nil {
			b.Fatal(fmt.Errorf("call: %w", err))
		}
		s.Settle(ticket, o)
	}
}

// quiet drops log lines.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// telling keeps what it is asked.
type telling struct {
	fixed
	mu    sync.Mutex
	asked []throughput.LeaseRequest
}

func (w *telling) Lease(ctx context.Context, resource string, r throughput.LeaseRequest) (throughput.Lease, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, r)
	return w.fixed.Lease(ctx, resource, r)
}

func TestAnOwnerIsToldTheARNThatCallsNameATableBy(t *testing.T) {
	const arn = "arn:aws:dynamodb:eu-west-1:210987654321:table/orders"
	owner := &telling{fixed: fixed{ordersWrite: 10}}
	scheduling(t, owner, func(t *testing.T, s *Scheduler) {
		require.NoError(t, through(t.Context(), s, requestFor(t, "PutItem", `{"TableName":"`+arn+`","Item":{}}`), 0, costs(1)))
		owner.mu.Lock()
		defer owner.mu.Unlock()
		require.Equal(t, arn, owner.asked[0].Table)
	})
}

package scheduler

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/throughput"
)

// owning is the real owner of one budget behind an answer that may be slow, and with
// capacity that may not be known at first.
type owning struct {
	mu      sync.Mutex
	o       *throughput.Owner
	slow    time.Duration // until an answer comes
	leases  int
	refused error
}

func newOwning(units float64) *owning {
	now := time.Now()
	w := &owning{o: &throughput.Owner{Resource: ordersWrite, Started: now, Used: now, Utilization: 980}}
	if units >= 0 {
		w.o.Describe(now, throughput.Units(units))
	}
	return w
}

func (w *owning) describe(units float64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.o.Describe(time.Now(), throughput.Units(units))
}

func (w *owning) Lease(ctx context.Context, resource string, r throughput.LeaseRequest) (throughput.Lease, error) {
	select {
	case <-time.After(w.slow):
	case <-ctx.Done():
		return throughput.Lease{}, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if resource != ordersWrite {
		now := time.Now()
		return throughput.Lease{AsOf: now, ExpiresAt: now.Add(throughput.LeaseTime), Unlimited: true}, nil
	}
	w.leases++
	return w.o.Lease(time.Now(), r), w.refused
}

func (w *owning) Release(_ context.Context, _, worker string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.o.Release(time.Now(), worker)
	return nil
}

// putting makes a request to put an item with a key.
func putting(t *testing.T, key string) throughput.Request {
	t.Helper()
	return requestFor(t, "PutItem", `{"TableName":"orders","Item":{"id":{"S":"`+key+`"}}}`)
}

// A service answers the calls that a scheduler lets go.
type answering func(now time.Time, key string) Outcome

// calls sends n puts, each as Temporal would have it: what is refused or sent back
// comes again. It answers when each was done, since the beginning.
func calls(ctx context.Context, t *testing.T, s *Scheduler, n int, service answering) (done []time.Duration) {
	t.Helper()
	began := time.Now()
	var mu sync.Mutex
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			key := fmt.Sprint(i)
			if until(ctx, s, putting(t, key), key, began, service) == nil {
				mu.Lock()
				defer mu.Unlock()
				done = append(done, time.Since(began))
			}
		})
	}
	all.Wait()
	return done
}

// until repeats a call as an activity does, three times at once and then later and
// later, until it goes through.
func until(ctx context.Context, s *Scheduler, r throughput.Request, key string, arrived time.Time, service answering) error {
	for attempt, here := 0, 0; ; {
		ticket, err := s.Acquire(ctx, r, throughput.Class(0), arrived)
		var delay time.Duration
		var l *Later
		switch {
		case errors.As(err, &l):
			delay = l.Delay
			attempt, here = attempt+1, 0
		case err != nil:
			return err
		default:
			time.Sleep(2 * time.Millisecond) // the service's
			o := service(time.Now(), key)
			s.Settle(ticket, o)
			if o.Throttled == 0 {
				return nil
			}
			if here++; here <= 3 {
				delay = 50 * time.Millisecond << (here - 1)
			} else {
				delay = min(time.Second<<attempt, 4*time.Second)
				attempt, here = attempt+1, 0
			}
		}
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// A single throttle on an on-demand table costs a burst hardly anything.
func TestOneThrottleOnAnOnDemandTableDoesNotLimitTheFleet(t *testing.T) {
	burst := func(throttleAt int) (took time.Duration) {
		synctest.Test(t, func(t *testing.T) {
			s := New(Config{Place: "r", Worker: "w", Owner: newOwning(0), Logger: quiet{}})
			defer s.Close()
			var mu sync.Mutex
			sent, free := 0, time.Now()
			service := func(now time.Time, _ string) Outcome {
				mu.Lock()
				if free.Before(now) {
					free = now
				}
				free = free.Add(5 * time.Millisecond) // about as fast as the dev stack is
				wait := free.Sub(now)
				sent++
				throttled := sent == throttleAt
				mu.Unlock()
				time.Sleep(wait)
				if throttled {
					return Outcome{Throttled: 1}
				}
				return costs(1)
			}
			calls(t.Context(), t, s, 5, service)
			sent = 0
			began := time.Now()
			require.Len(t, calls(t.Context(), t, s, 500, service), 500)
			took = time.Since(began)
		})
		return took
	}
	without, with := burst(-1), burst(10)
	t.Logf("500 puts: %v without a throttle, %v with one", without, with)
	require.LessOrEqual(t, with, 2*without)
}

// After twenty seconds in which everything is throttled, what waits is done soon.
func TestTwentySecondsOfThrottlesAreOverWithinAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Place: "r", Worker: "w", Owner: newOwning(0), Logger: quiet{}})
		defer s.Close()
		ends := time.Now().Add(time.Hour)
		service := func(now time.Time, _ string) Outcome {
			if now.After(ends.Add(-20*time.Second)) && now.Before(ends) {
				return Outcome{Throttled: 1}
			}
			return costs(1)
		}
		calls(t.Context(), t, s, 400, service)
		ends = time.Now().Add(20 * time.Second)
		done := calls(t.Context(), t, s, 200, service)
		require.Len(t, done, 200)
		last := done[len(done)-1] - 20*time.Second
		t.Logf("200 puts done %v after the throttles", last)
		require.Less(t, last, time.Minute)
	})
}

// used counts what went through in a time, a second.
func used(done []time.Duration, from, to time.Duration) (perSecond float64) {
	for _, d := range done {
		if d >= from && d < to {
			perSecond++
		}
	}
	return perSecond / (to - from).Seconds()
}

// However late the capacity of a table is known, from five seconds later on it is
// used.
func TestCapacityThatIsKnownLateIsUsedSoon(t *testing.T) {
	for name, slow := range map[string]time.Duration{"described after 8 s": 0, "leases that take 3 s": 3 * time.Second} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				owner := newOwning(-1)
				owner.slow = slow
				s := New(Config{Place: "r", Worker: "w", Owner: owner, Logger: quiet{}})
				defer s.Close()
				time.AfterFunc(8*time.Second, func() { owner.describe(20) })
				ctx, cancel := context.WithTimeout(t.Context(), 40*time.Second)
				defer cancel()
				done := calls(ctx, t, s, 800, func(time.Time, string) Outcome { return costs(1) })
				perSecond := used(done, 13*time.Second+slow, 38*time.Second)
				t.Logf("%.1f units a second of 19.6", perSecond)
				require.GreaterOrEqual(t, perSecond, 0.9*19.6)
				require.LessOrEqual(t, perSecond, 1.03*19.6)
				require.Less(t, used(done, 0, 8*time.Second), 3.0, "and hardly anything before")
			})
		})
	}
}

// A fleet that is asked for far more than there is, all at once, uses what there is:
// those whose first share is small, since others hold the rest for seconds yet, do not
// put their calls off for as long as that share would take.
func TestAFleetThatBeginsTogetherIsNotPutOffForAMinute(t *testing.T) {
	const puts = 400
	for name, c := range map[string]struct {
		first func(n int) int
		quiet time.Duration // before, with a call a second
	}{
		"all at one worker first": {func(int) int { return 0 }, 0},
		"all over":                {func(n int) int { return n }, 0},
		"two workers idle first":  {func(n int) int { return n / 2 * 2 }, 0},
		"after a quiet time":      {func(n int) int { return n }, 2 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				owner := newOwning(20)
				fleet := make([]*Scheduler, 4)
				for i := range fleet {
					fleet[i] = New(Config{Place: "r", Worker: fmt.Sprint("w", i), Owner: owner, Logger: quiet{}})
					defer fleet[i].Close()
				}
				for range int(c.quiet / time.Second) {
					for _, w := range fleet {
						require.NoError(t, until(t.Context(), w, putting(t, "x"), "x", time.Now(), func(time.Time, string) Outcome { return costs(1) }))
					}
					time.Sleep(time.Second)
				}
				began, attempts := time.Now(), 0
				draw := rand.New(rand.NewPCG(1, 2))
				var mu sync.Mutex
				worker := func(choose func(int) int) *Scheduler { // Temporal gives each attempt to any
					mu.Lock()
					defer mu.Unlock()
					attempts++
					return fleet[choose(draw.IntN(len(fleet)))]
				}
				var all sync.WaitGroup
				for i := range puts {
					all.Go(func() {
						for at := worker(c.first); ; at = worker(func(n int) int { return n }) {
							ticket, err := at.Acquire(t.Context(), putting(t, fmt.Sprint(i)), throughput.Class(0), began)
							var l *Later
							if errors.As(err, &l) {
								time.Sleep(l.Delay)
								continue
							}
							time.Sleep(2 * time.Millisecond)
							at.Settle(ticket, costs(1))
							return
						}
					})
				}
				all.Wait()
				took := time.Since(began).Seconds()
				t.Logf("%d puts in %.1f s and %.1f attempts each", puts, took, float64(attempts)/puts)
				require.Less(t, took, 2*puts/19.6)
				require.Greater(t, took, 0.95*puts/19.6)
				require.Less(t, attempts, 5*puts)
			})
		})
	}
}

// A call that costs far more than there is a second is paid for by time, also while
// the next one waits at Temporal and nothing else happens.
func TestADebtIsPaidWhileTheNextCallWaitsAtTemporal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := newOwning(5)
		s := New(Config{Place: "r", Worker: "w", Owner: owner, Logger: quiet{}})
		defer s.Close()
		large := func(time.Time, string) Outcome { return costs(381) }
		began := time.Now()
		require.NoError(t, until(t.Context(), s, putting(t, "a"), "a", began, large))
		first := time.Now()
		require.NoError(t, until(t.Context(), s, putting(t, "b"), "b", began, large))
		require.InDelta(t, 78, time.Since(first).Seconds(), 7.8)
	})
}

// The same on another worker of the fleet: it waits for what the first one owes.
func TestADebtIsPaidByTheFleetWhoeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := newOwning(5)
		one := New(Config{Place: "r", Worker: "one", Owner: owner, Logger: quiet{}})
		defer one.Close()
		other := New(Config{Place: "r", Worker: "other", Owner: owner, Logger: quiet{}})
		defer other.Close()
		large := func(time.Time, string) Outcome { return costs(381) }
		began := time.Now()
		require.NoError(t, until(t.Context(), one, putting(t, "a"), "a", began, large))
		first := time.Now()
		time.Sleep(10 * time.Second)
		require.NoError(t, until(t.Context(), other, putting(t, "b"), "b", began, large))
		require.InDelta(t, 78, time.Since(first).Seconds(), 12)
	})
}

// A watch that reads once in half a minute costs a few hundred leases a day.
func TestAWatchHardlyLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := newOwning(5)
		s := New(Config{Place: "r", Worker: "w", Owner: owner, Logger: quiet{}})
		defer s.Close()
		for range 2 * 3600 / 30 {
			require.NoError(t, until(t.Context(), s, putting(t, "a"), "a", time.Now(), func(time.Time, string) Outcome { return costs(1) }))
			time.Sleep(30 * time.Second)
		}
		owner.mu.Lock()
		defer owner.mu.Unlock()
		t.Logf("%d leases in two hours", owner.leases)
		require.LessOrEqual(t, owner.leases*12, 600, "a day")
	})
}

// Used steadily, a budget costs a worker less than 4,000 leases a day.
func TestSteadyUseCostsFewLeases(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		owner := newOwning(10)
		s := New(Config{Place: "r", Worker: "w", Owner: owner, Logger: quiet{}})
		defer s.Close()
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		defer cancel()
		var all sync.WaitGroup
		for range 5 {
			all.Go(func() {
				for ctx.Err() == nil {
					_ = until(ctx, s, putting(t, "a"), "a", time.Now(), func(time.Time, string) Outcome { return costs(1) })
					time.Sleep(time.Second)
				}
			})
		}
		all.Wait()
		owner.mu.Lock()
		defer owner.mu.Unlock()
		t.Logf("%d leases in an hour", owner.leases)
		require.LessOrEqual(t, owner.leases*24, 4000)
	})
}

// One key that the service takes less of than the table has holds back the calls for
// it, and no others.
func TestAHotKeyHoldsBackItsOwnCallsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const hotUnits, callers = 10, 80
		s := New(Config{Place: "r", Worker: "w", Owner: newOwning(100), Logger: quiet{}})
		defer s.Close()
		s.partition = func(string, string) string { return "id" }
		var mu sync.Mutex
		bucket := throughput.NewBudget(time.Now(), time.Second)
		bucket.SetRate(time.Now(), hotUnits*throughput.Unit)
		done := map[bool]int{}
		service := func(now time.Time, key string) Outcome {
			mu.Lock()
			defer mu.Unlock()
			if key == "hot" {
				if !bucket.Ready(now) {
					return Outcome{Throttled: 1, KeyRange: true}
				}
				bucket.Charge(now, throughput.Unit)
			}
			done[key == "hot"]++
			return costs(1)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Second)
		defer cancel()
		var all sync.WaitGroup
		for i := range callers + 20 {
			key := "hot"
			if i < callers {
				key = fmt.Sprint(i)
			}
			all.Go(func() {
				for ctx.Err() == nil {
					_ = until(ctx, s, putting(t, key), key, time.Now(), service)
				}
			})
		}
		time.Sleep(10 * time.Second) // it is learned what the key takes
		mu.Lock()
		done = map[bool]int{}
		mu.Unlock()
		time.Sleep(60 * time.Second)
		mu.Lock()
		hot, others := float64(done[true])/60, float64(done[false])/60
		mu.Unlock()
		cancel()
		all.Wait()
		t.Logf("%.1f units a second of the hot key, %.1f of the others", hot, others)
		require.GreaterOrEqual(t, others, 0.8*(98-hot))
		require.GreaterOrEqual(t, hot, 0.7*hotUnits)
		owner, _ := s.owner.(*owning)
		require.Zero(t, owner.o.Status(time.Now()).ThrottledPerMinute, "the table was not short of anything")
	})
}

// What nobody uses any more is forgotten, whatever names documents give.
func TestAccountsOfTablesThatNobodyUsesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Config{Place: "r", Worker: "w", Owner: fixed{}, Logger: quiet{}})
		defer s.Close()
		for i := range 300 {
			r := requestFor(t, "PutItem", fmt.Sprintf(`{"TableName":"table%d","Item":{}}`, i))
			o := Outcome{Known: true, Charges: []throughput.Charge{{Table: fmt.Sprintf("table%d", i), Units: 1000}, {Table: fmt.Sprintf("table%d", i), Index: "i", Units: 1000}}}
			require.NoError(t, through(t.Context(), s, r, 0, o))
			time.Sleep(10 * time.Second)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		require.Less(t, len(s.accounts), 300, "those of the last ten minutes, and as long as their leases last")
		for _, a := range s.accounts {
			require.LessOrEqual(t, len(a.lines), 2)
		}
	})
}

package throughput

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// newOwner of 100 units a second that has settled.
func newOwner(units float64) *Owner {
	o := &Owner{Resource: "dynamodb/eu-west-1/orders/write", Started: start.Add(-time.Minute), Used: start, Utilization: Unit}
	o.Describe(start, Units(units))
	return o
}

func ask(worker string, units float64) LeaseRequest {
	return LeaseRequest{Worker: worker, Demand: Demand{2: Units(units)}}
}

func TestOwnerGivesNoMoreThanOthersLeave(t *testing.T) {
	o := newOwner(100)
	require.Equal(t, 100*Unit, o.Lease(start, ask("a", 300)).UnitsPerSecond)

	second := o.Lease(at(time.Second), ask("b", 300))
	require.Zero(t, second.UnitsPerSecond, "a holds all of it")
	require.Less(t, second.RenewAfter.Std(), 4*time.Second, "so b asks again soon")

	require.Equal(t, 50*Unit, o.Lease(at(2*time.Second), ask("a", 300)).UnitsPerSecond)
	third := o.Lease(at(3*time.Second), ask("b", 300))
	require.Equal(t, 50*Unit, third.UnitsPerSecond)
	require.Equal(t, LeaseTime, third.Validity())
	require.Equal(t, LeaseTime*3/4, third.RenewAfter.Std())
}

func TestOwnerTakesADeadWorkersShareBack(t *testing.T) {
	o := newOwner(100)
	o.Lease(start, ask("a", 300))
	o.Lease(start, ask("a", 300))
	require.Equal(t, 100*Unit, o.Lease(at(LeaseTime), ask("b", 300)).UnitsPerSecond)
	require.Len(t, o.Holders, 1)

	o.Release(at(LeaseTime), "b")
	require.Equal(t, 100*Unit, o.Lease(at(LeaseTime), ask("c", 1)).UnitsPerSecond, "and what is released at once")
}

func TestOwnerPauses(t *testing.T) {
	o := newOwner(100)
	o.Pause(start, "maintenance", time.Minute)
	lease := o.Lease(start, ask("a", 10))
	require.True(t, lease.Paused)
	require.Zero(t, lease.UnitsPerSecond)
	s := o.Status(start)
	require.True(t, s.Paused)
	require.Equal(t, "maintenance", s.Reason)
	require.Equal(t, at(time.Minute), *s.PausedUntil)
	require.Equal(t, at(time.Minute), o.Next())
	require.False(t, o.Idle(at(time.Hour)))

	require.False(t, o.Status(at(time.Minute)).Paused, "seen without being changed")
	o.Tick(at(time.Minute))
	require.False(t, o.Lease(at(time.Minute), ask("a", 10)).Paused)

	o.Pause(at(time.Minute), "", 0)
	require.True(t, o.Next().IsZero(), "until unpaused")
	o.Unpause(at(2 * time.Minute))
	require.Equal(t, at(2*time.Minute).Add(IdleEnd), o.Next())
}

func TestOwnerEndsWhenIdle(t *testing.T) {
	o := newOwner(100)
	lease := o.Lease(start, ask("a", 1))
	end := lease.ExpiresAt.Add(IdleEnd)
	require.Equal(t, end, o.Next())
	require.False(t, o.Idle(end.Add(-1)))
	require.True(t, o.Idle(end))

	rate := 50 * Unit
	o.Set(start, &rate, nil, Unit)
	require.False(t, o.Idle(end.Add(24*time.Hour)), "not when it was set by hand")
	require.Equal(t, 50*Unit, o.Status(start).Effective)
	zero := Milli(0)
	o.Set(start, &zero, nil, Unit)
	require.Equal(t, 100*Unit, o.Status(start).Effective, "as described again")
	require.True(t, o.Idle(at(IdleEnd+LeaseTime)))
}

func TestOwnerOfAnOnDemandTable(t *testing.T) {
	o := newOwner(0)
	lease := o.Lease(start, ask("a", 1000))
	require.True(t, lease.Unlimited)
	require.False(t, lease.Paused)

	o.Lease(at(6*time.Second), LeaseRequest{Worker: "a", Demand: Demand{2: Units(1000)}, Consumed: 600 * Unit})
	lease = o.Lease(at(9*time.Second), LeaseRequest{Worker: "a", Demand: Demand{2: Units(1000)}, Consumed: 90 * Unit, Throttled: 3})
	require.False(t, lease.Unlimited)
	require.True(t, lease.Learned)
	require.Equal(t, 100*Unit, lease.UnitsPerSecond, "the highest rate of the last minute, not what came before the throttle")
	require.Less(t, lease.RenewAfter.Std(), 4*time.Second, "as it will soon be more")
	s := o.Status(at(9 * time.Second))
	require.Equal(t, 3, s.ThrottledPerMinute)
	require.Equal(t, 100*Unit, s.Effective)
	require.True(t, s.Learned)
	raw, err := json.Marshal(s)
	require.NoError(t, err)
	require.NotContains(t, string(raw), "NaN")
	require.True(t, o.Lease(at(15*time.Second), ask("a", 1000)).Unlimited, "forgotten")
}

// A burst that is throttled once in its first second is not held to what came
// before: the worker tells the most that went through in any second.
func TestOneThrottleDoesNotLimitTheFleetForMinutes(t *testing.T) {
	o := newOwner(0)
	o.Lease(start, ask("a", 5))
	lease := o.Lease(at(7*time.Second), LeaseRequest{
		Worker: "a", Demand: Demand{2: Units(300)}, Consumed: 165 * Unit, Fastest: 160 * Unit, Throttled: 1,
	})
	require.Equal(t, 160*Unit, lease.UnitsPerSecond)
	require.True(t, o.Lease(at(12*time.Second), ask("a", 300)).Unlimited)
}

func TestOwnerGoesOnWithWhatItKnewWhenItCannotAsk(t *testing.T) {
	o := &Owner{Resource: "dynamodb/eu-west-1/orders/read", Utilization: Unit, Started: start, Used: start}
	require.True(t, o.Stale(start))
	lease := o.Lease(start, ask("a", 10))
	require.Equal(t, Unit, lease.UnitsPerSecond, "a unit while nothing is known")
	require.True(t, lease.Unknown)
	require.Less(t, lease.RenewAfter.Std(), 4*time.Second, "it will be known in a moment")
	o.Describe(start, 10*Unit)
	require.False(t, o.Stale(at(time.Second)))
	require.Equal(t, 10*Unit, o.Lease(at(2*time.Second), ask("a", 10)).UnitsPerSecond)
	o.DescribeFailed(at(30*time.Second), "AccessDenied")
	require.False(t, o.Stale(at(30*time.Second)))
	require.True(t, o.Stale(at(32*time.Second)), "asked again within seconds")
	o.DescribeFailed(at(32*time.Second), "AccessDenied")
	require.False(t, o.Stale(at(34*time.Second)), "but not for ever")
	s := o.Status(at(34 * time.Second))
	require.Equal(t, 10*Unit, s.Effective)
	require.Equal(t, "AccessDenied", s.LastError)
}

// However workers come, go, die and ask, the leases in force together stay within
// the ceiling that was in force when each was given.
func TestOwnersLeasesStayWithinTheCeiling(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		o := newOwner(100)
		now := start
		for range rapid.IntRange(1, 120).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(3*time.Second)).Draw(t, "passed")))
			worker := fmt.Sprint("w", rapid.IntRange(0, 5).Draw(t, "worker"))
			if rapid.IntRange(0, 9).Draw(t, "release") == 0 {
				o.Release(now, worker)
				continue
			}
			o.Lease(now, ask(worker, rapid.Float64Range(0, 300).Draw(t, "demand")))
			var sum Milli
			for i, h := range o.Holders {
				if i > 0 {
					require.Less(t, o.Holders[i-1].Worker, h.Worker, "one lease a worker, in order")
				}
				if h.ExpiresAt.After(now) {
					sum += h.Units
				}
			}
			require.LessOrEqual(t, sum, 100*Unit)
		}
		raw, err := json.Marshal(o)
		require.NoError(t, err)
		var carried Owner
		require.NoError(t, json.Unmarshal(raw, &carried))
		require.Equal(t, o.Lease(now, ask("w9", 7)), carried.Lease(now, ask("w9", 7)), "carried on unchanged")
	})
}

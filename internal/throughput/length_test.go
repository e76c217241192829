package throughput

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/duration"
)

func TestLeasesGrowWhenTheyStayAlike(t *testing.T) {
	o, now := newOwner(100), start
	renew := func(r LeaseRequest) Lease {
		lease := o.Lease(now, r)
		now = now.Add(lease.RenewAfter.Std())
		return lease
	}
	busy := ask("a", 300)
	for range 3 {
		require.Equal(t, LeaseTime, renew(busy).Validity())
	}
	require.Equal(t, SteadyTime, renew(busy).Validity(), "after three alike")
	require.Equal(t, SteadyTime*4/5, renew(busy).RenewAfter.Std())

	named := busy
	named.Steady = duration.Duration(2 * time.Minute)
	require.Equal(t, 2*time.Minute, renew(named).Validity(), "as long as the worker says")

	throttled := busy
	throttled.Throttled = 1
	require.Equal(t, LeaseTime, renew(throttled).Validity(), "what changes is looked at sooner")
}

// A worker that wants next to nothing, such as a watch, asks every few minutes.
func TestAWatchRarelyRenews(t *testing.T) {
	o, now := newOwner(5), start
	watch := LeaseRequest{Worker: "watch", Demand: Demand{2: Units(1.0 / 30)}}
	leases := 0
	for ; now.Before(at(24 * time.Hour)); leases++ {
		now = now.Add(o.Lease(now, watch).RenewAfter.Std())
	}
	require.Less(t, leases, 500, "a day")
	require.LessOrEqual(t, o.Status(now).Leased, 5*Unit/100, "under a hundredth of the ceiling")

	burst := o.Lease(now, ask("watch", 300))
	require.Equal(t, 5*Unit, burst.UnitsPerSecond, "all of it when it wants more")
	require.Equal(t, LeaseTime, burst.Validity())
}

// Shares for minutes stay under a hundredth of the ceiling together.
func TestManyWatchesHoldLessThanAHundredthForMinutes(t *testing.T) {
	o, now := newOwner(100), start
	for range 6 {
		for i := range 40 {
			o.Lease(now, LeaseRequest{Worker: fmt.Sprint("w", i), Demand: Demand{2: Units(1.0 / 30)}})
		}
		var long Milli
		for _, h := range o.Holders {
			if h.Long {
				long += h.Units
			}
		}
		require.Less(t, long, Unit)
		now = now.Add(6 * time.Second)
	}
}

func TestAWatchOfAnOnDemandTableRarelyRenews(t *testing.T) {
	o, now := newOwner(0), start
	leases := 0
	for ; now.Before(at(24 * time.Hour)); leases++ {
		now = now.Add(o.Lease(now, LeaseRequest{Worker: "watch", Demand: Demand{2: Units(1.0 / 30)}}).RenewAfter.Std())
	}
	require.Less(t, leases, 500)
	require.True(t, o.Lease(now, ask("watch", 300)).Unlimited)
}

// One budget in steady use costs a worker less than 3,700 leases a day, and its
// owner less than 3,700 look-ups, however many workers use it: its timers and its runs
// come to 170 more, and 4,000 are what it may cost.
func TestABudgetInSteadyUseCostsLittle(t *testing.T) {
	for _, workers := range []int{1, 2, 7, 40} {
		o := newOwner(1000)
		due := make([]time.Time, workers)
		for i := range due {
			due[i] = at(time.Duration(i) * time.Second / 7)
		}
		leases, lookUps := 0, 0
		for {
			next := 0
			for i := range due {
				if due[i].Before(due[next]) {
					next = i
				}
			}
			now := due[next]
			if now.After(at(24 * time.Hour)) {
				break
			}
			due[next] = now.Add(o.Lease(now, ask(fmt.Sprint("w", next), 50)).RenewAfter.Std())
			leases++
			if o.Stale(now) {
				require.LessOrEqual(t, now.Sub(o.Described), 30*time.Second)
				o.Describe(now, 1000*Unit)
				lookUps++
			}
		}
		require.Less(t, leases/workers, 3700, workers)
		require.Less(t, lookUps, 3700, workers)
	}
}

func TestWhatIsProvisionedIsLookedUpRarelyWhileHardlyAnythingIsLeased(t *testing.T) {
	o, now := newOwner(100), start
	lookUps := 0
	for now.Before(at(24 * time.Hour)) {
		lease := o.Lease(now, LeaseRequest{Worker: "watch", Demand: Demand{2: Units(1.0 / 30)}})
		if o.Stale(now) {
			require.LessOrEqual(t, now.Sub(o.Described), 10*time.Minute)
			o.Describe(now, 100*Unit)
			lookUps++
		}
		now = now.Add(lease.RenewAfter.Std())
	}
	require.Less(t, lookUps, 250)
}

// In a large fleet leases are as long as one workflow can renew them.
func TestLeasesAreAsLongAsTheFleetIsLarge(t *testing.T) {
	o := newOwner(10_000)
	o.Started = start
	for i := range 1000 {
		lease := o.Lease(at(time.Duration(i)*10*time.Millisecond), ask(fmt.Sprintf("w%04d", i), 30))
		n := len(o.Holders)
		require.GreaterOrEqual(t, lease.Validity(), time.Duration(n)*time.Second*10/75, "%d workers", n)
		require.LessOrEqual(t, lease.RenewAfter.Std(), lease.Validity()*3/4)
	}
}

package fleet

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/throughput"
)

// overload is three times as much demand as there is, half to one and a half times
// as much from one worker as from another.
func overload(workers int, ceiling float64) func(int, time.Duration) throughput.Milli {
	return func(worker int, _ time.Duration) throughput.Milli {
		return throughput.Units(3 * ceiling / float64(workers) * (0.5 + float64(worker%11)/10))
	}
}

// granted is the part of the ceiling that was leased from a time on: its mean, and
// its least over any ten seconds.
func granted(looks []Look, from int, ceiling throughput.Milli) (mean, least float64) {
	least = 1
	for i, s := range looks[from:] {
		mean += s.Granted.Float() / ceiling.Float() / float64(len(looks)-from)
		if i+10 > len(looks)-from {
			continue
		}
		ten := 0.0
		for _, s := range looks[from+i : from+i+10] {
			ten += s.Granted.Float() / ceiling.Float() / 10
		}
		least = min(least, ten)
	}
	return mean, least
}

// A fleet that is started within ten seconds has its shares within half a minute,
// whatever its size, and asks for no more leases than one workflow can give.
func TestAFleetThatBeginsTogether(t *testing.T) {
	for _, workers := range []int{1, 10, 50, 200, 1000} {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%d workers, seed %d", workers, seed), func(t *testing.T) {
				ceiling := throughput.Units(10_000)
				r := Start(Fleet{Workers: workers, Ceiling: ceiling, Begin: 10 * time.Second, Seed: seed, Demand: overload(workers, 10_000)})
				r.Until(90 * time.Second)
				require.Less(t, slices.Max(r.Served), 30*time.Second, "everyone has a share")
				require.GreaterOrEqual(t, slices.Min(r.Served), time.Duration(0))
				mean, least := granted(r.Looks, 30, ceiling)
				require.GreaterOrEqual(t, mean, 0.95)
				require.GreaterOrEqual(t, least, 0.93)
				require.LessOrEqual(t, mostAsked(r.Looks[30:], 30), 300, "ten a second")
				for _, s := range r.Looks {
					require.LessOrEqual(t, s.Granted, ceiling)
				}
			})
		}
	}
}

// However fast a fleet grows, everybody who comes has a share within half a minute.
func TestAFleetThatGrowsSlowlyOrAllAtOnce(t *testing.T) {
	for _, begin := range []time.Duration{time.Second, 30 * time.Second, 2 * time.Minute} {
		t.Run(begin.String(), func(t *testing.T) {
			r := Start(Fleet{Workers: 1000, Ceiling: throughput.Units(10_000), Begin: begin, Demand: overload(1000, 10_000)})
			r.Until(begin + time.Minute)
			require.Less(t, slices.Max(r.Served), 30*time.Second)
			require.GreaterOrEqual(t, slices.Min(r.Served), time.Duration(0))
		})
	}
}

// When all demand moves from one half of a fleet to the other, the shares follow.
func TestADemandThatShifts(t *testing.T) {
	const workers, shift = 50, 2 * time.Minute
	ceiling := throughput.Units(1000)
	first := func(worker int) bool { return worker < workers/2 }
	r := Start(Fleet{Workers: workers, Ceiling: ceiling, Begin: 10 * time.Second, Changes: true, Demand: func(worker int, at time.Duration) throughput.Milli {
		if first(worker) == (at < shift) {
			return throughput.Units(80)
		}
		return 0
	}})
	r.Until(shift)
	for s := 1; s <= 60; s++ {
		r.Until(shift + time.Duration(s)*time.Second)
		var second throughput.Milli
		for worker := workers / 2; worker < workers; worker++ {
			second += r.Share(worker)
		}
		if second >= ceiling*95/100 {
			t.Logf("followed within %d s", s)
			return
		}
	}
	t.Fatal("not followed within a minute")
}

// A large fleet shares one budget fairly, and what is lost with a tenth of its
// workers, or with their owner for five minutes, is bounded. The benchmark tells the
// figures of ten thousand.
func TestALargeFleet(t *testing.T) {
	figures := Large(2000)
	t.Logf("%+v", figures)
	require.Less(t, figures.ServedSeconds, 30.0)
	require.GreaterOrEqual(t, figures.Granted, 0.95)
	require.LessOrEqual(t, figures.LeasesPerSecond, 12.0, "a little over ten while those renew who came within the same minutes")
	require.GreaterOrEqual(t, figures.Fairness, 0.95)
	require.GreaterOrEqual(t, figures.LeastGrantedAfterLoss, 0.85)
	require.LessOrEqual(t, figures.LossHealedSeconds, 400.0)
	require.GreaterOrEqual(t, figures.LeastConsumedWithoutOwner, 0.85)
}

package throughput

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/duration"
)

func leaseFor(units float64, length time.Duration) Lease {
	return Lease{UnitsPerSecond: Units(units), AsOf: start.Add(time.Hour), ExpiresAt: start.Add(time.Hour + length)}
}

func TestATenantRenewsAtThreeQuarters(t *testing.T) {
	var tenant Tenant
	require.False(t, tenant.Next().After(start), "the first question is asked at once")
	tenant.Granted(start, start, 5*Unit, leaseFor(10, 8*time.Second), 0.5)
	require.Equal(t, at(6*time.Second), tenant.Next(), "the owner's clock does not matter")
	hinted := leaseFor(10, 8*time.Second)
	hinted.RenewAfter = duration.Duration(2 * time.Second)
	tenant.Granted(start, start, 5*Unit, hinted, 0.5)
	require.Equal(t, at(2*time.Second), tenant.Next(), "or when the owner says")
	tenant.Granted(start, at(5*time.Second), 5*Unit, hinted, 0.5)
	require.Equal(t, at(6*time.Second), tenant.Next(), "a slow owner is not asked at once again")
}

func TestARiseAsksEarlyOnceInAQuarterOfALease(t *testing.T) {
	var tenant Tenant
	tenant.Wants(start, 100*Unit, 0.5) // has no lease to ask early for
	tenant.Granted(start, start, 5*Unit, leaseFor(10, 8*time.Second), 0.5)
	tenant.Wants(at(time.Second), 10*Unit, 0)
	require.Equal(t, at(6*time.Second), tenant.Next(), "what it has is enough")
	tenant.Wants(at(time.Second), 30*Unit, 0.5)
	require.Equal(t, at(3*time.Second), tenant.Next(), "after a quarter, spread over another")
	tenant.Wants(at(1100*time.Millisecond), 30*Unit, 0)
	require.Equal(t, at(3*time.Second), tenant.Next(), "chosen once")

	tenant.Granted(at(3*time.Second), at(3*time.Second), 30*Unit, leaseFor(10, 8*time.Second), 0.5)
	tenant.Wants(at(7*time.Second), 31*Unit, 0)
	require.Equal(t, at(9*time.Second), tenant.Next(), "the owner knows already that it wants as much")

	long := leaseFor(0.2, 5*time.Minute) // of a watch
	long.Spread = duration.Duration(200 * time.Millisecond)
	tenant.Granted(start, start, 0, long, 0.5)
	tenant.Wants(at(time.Minute), 30*Unit, 0.5)
	require.Equal(t, at(time.Minute+100*time.Millisecond), tenant.Next(), "at once where the lease is long for another reason than the fleet's size")
}

func TestAThrottleIsToldWhenASecondOfItWasSeen(t *testing.T) {
	var tenant Tenant
	tenant.Granted(start, start, 5*Unit, leaseFor(10, 30*time.Second), 0.5)
	tenant.Refused(at(20*time.Second), 0)
	require.Equal(t, at(21*time.Second), tenant.Next())
}

// Failures are asked again later and later, at random; a fleet does not come back
// in step.
func TestFailuresBackOff(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var tenant Tenant
		now := start
		for n := range 12 {
			tenant.Failed(now, errors.New("no answer"), rapid.Float64Range(0, 0.999).Draw(t, "random"))
			wait := tenant.Next().Sub(now)
			require.GreaterOrEqual(t, wait, min(time.Second<<n, 15*time.Second))
			require.LessOrEqual(t, wait, 30*time.Second)
			tenant.Wants(now, 1000*Unit, 0)
			tenant.Refused(now, 0)
			require.Equal(t, wait, tenant.Next().Sub(now), "nothing else shortens that")
			now = tenant.Next()
		}
	})
}

// An owner that is asked by too many is left in peace for as long as the fleet is
// large: the window doubles until all together ask no more than it can answer.
func TestAFleetThatAsksTooMuchAtATimeSpreadsOut(t *testing.T) {
	var tenant Tenant
	now := start
	for n, least := range []int{2, 4, 8, 12, 12} {
		tenant.Failed(now, fmt.Errorf("lease: %w", ErrBusy), 0)
		require.Equal(t, time.Duration(least)*time.Second, tenant.Next().Sub(now), n)
		now = tenant.Next()
	}
	tenant.Granted(now, now, 0, leaseFor(1, 8*time.Second), 0.5)
	tenant.Failed(now, ErrBusy, 0)
	require.Equal(t, 2*time.Second, tenant.Next().Sub(now), "an answer ends that")
	tenant.Failed(now, ErrBusy, 1)
	require.Equal(t, 40*time.Second, tenant.Next().Sub(now), "spread widely")
}

func TestALostOwnerLeavesAShareForOneLeaseMore(t *testing.T) {
	var tenant Tenant
	share := func(after time.Duration) float64 {
		units, unlimited := tenant.Share(at(after), 50*Unit)
		require.False(t, unlimited)
		return units.Float()
	}
	require.Zero(t, share(0), "nothing before anybody was asked")
	tenant.Failed(start, errors.New("no answer"), 0)
	require.Equal(t, 1.0, share(0), "a unit where there never was a lease")

	tenant.Granted(start, start, 0, leaseFor(40, 8*time.Second), 0)
	require.Equal(t, 40.0, share(100*time.Second), "a late question is no lost owner")
	tenant.Failed(at(8*time.Second), errors.New("no answer"), 0)
	require.Equal(t, 40.0, share(15*time.Second))
	require.Equal(t, 20.0, share(16*time.Second))
	require.Equal(t, 10.0, share(24*time.Second))
	require.Equal(t, 1.0, share(time.Hour))

	small := leaseFor(0.2, 8*time.Second)
	tenant.Granted(start, start, 0, small, 0)
	tenant.Failed(at(8*time.Second), errors.New("no answer"), 0)
	require.Equal(t, 0.2, share(time.Hour), "never more than it had")

	free := leaseFor(0, 8*time.Second)
	free.Unlimited = true
	tenant.Granted(start, start, 0, free, 0)
	_, unlimited := tenant.Share(at(time.Second), 0)
	require.True(t, unlimited)
	tenant.Failed(at(8*time.Second), errors.New("no answer"), 0)
	require.Equal(t, 25.0, share(16*time.Second), "half of what it consumed where there was no limit")

	paused := leaseFor(0, 8*time.Second)
	paused.Paused = true
	tenant.Granted(start, start, 0, paused, 0)
	tenant.Failed(at(8*time.Second), errors.New("no answer"), 0)
	require.Zero(t, share(time.Hour), "a pause stays")
}

func TestATenantTellsWhatItStillHolds(t *testing.T) {
	var tenant Tenant
	_, rest := tenant.Holds(start)
	require.Zero(t, rest)
	tenant.Granted(start, start, 0, leaseFor(40, 8*time.Second), 0)
	units, rest := tenant.Holds(at(3 * time.Second))
	require.Equal(t, 40*Unit, units)
	require.Equal(t, 5*time.Second, rest)
	_, rest = tenant.Holds(at(9 * time.Second))
	require.Zero(t, rest)
}

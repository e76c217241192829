package throughput

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/duration"
)

func TestHoldersAreCarriedUnchanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		milli := func(name string) Milli { return Milli(rapid.Int64Range(0, 1e12).Draw(t, name)) }
		h := Holder{
			Worker:    rapid.StringN(1, 40, -1).Draw(t, "worker"),
			At:        at(time.Duration(rapid.Int64Range(0, 1e15).Draw(t, "at"))),
			Units:     milli("units"),
			Unlimited: rapid.Bool().Draw(t, "unlimited"),
			Long:      rapid.Bool().Draw(t, "long"),
			Short:     rapid.Bool().Draw(t, "short"),
			Rate:      milli("rate"), Fastest: milli("fastest"), Debt: milli("debt"),
			Alike: rapid.IntRange(0, 1e6).Draw(t, "alike"),
		}
		h.ExpiresAt = h.At.Add(time.Duration(rapid.Int64Range(0, 1e12).Draw(t, "length")))
		for class := range h.Demand {
			h.Demand[class] = milli("demand")
		}
		if rapid.Bool().Draw(t, "waits") {
			h.From = at(time.Hour)
		}
		raw, err := json.Marshal(h)
		require.NoError(t, err)
		var carried Holder
		require.NoError(t, json.Unmarshal(raw, &carried))
		require.Equal(t, h, carried)
	})
	for _, bad := range []string{`{}`, `[]`, `["a"]`, `["a",1,2,3,4,5,6,7,8,"x"]`, `[1,1,2,3,4,5,6,7,8,9]`, `["a",1,2,3,4,5,6,7,8,9,1,2,3,4,5,6]`} {
		var h Holder
		require.Error(t, json.Unmarshal([]byte(bad), &h), bad)
	}
}

// What a run hands on stays under its bound with five thousand workers of the
// longest names, and with as many more of shorter ones as come.
func TestWhatIsCarriedIsBounded(t *testing.T) {
	for _, name := range []int{MaxName, 60, 8} {
		o, n := newOwner(100_000), 0
		for ; n < 20_000; n++ {
			worker := fmt.Sprintf("%0*d", name, n)
			if o.Full(worker) {
				break
			}
			// As full as a holder gets, without the time that leases take here.
			o.Holders = append(o.Holders, Holder{
				Worker: worker, At: at(time.Duration(n)), ExpiresAt: at(time.Hour + time.Duration(n)), Units: 123_456_789, Long: true,
				Demand: Demand{123_456, 123_456, 123_456, 123_456, 123_456}, Rate: 123_456_789, Fastest: 123_456_789, Debt: 123_456_789,
				Alike: 12345, From: at(time.Minute),
			})
		}
		require.GreaterOrEqual(t, n, 5000, name)
		require.False(t, o.Full(o.Holders[0].Worker), "who has a lease goes on")
		raw, err := json.Marshal(o)
		require.NoError(t, err)
		require.Less(t, len(raw), 175<<20/100, "%d workers of %d bytes", n, name)
	}
}

func TestLongNamesAreRefused(t *testing.T) {
	o := newOwner(100)
	o.Lease(start, ask(strings.Repeat("x", MaxName), 1))
	require.Len(t, o.Holders, 1)
}

// An owner that was started anew, after the one before was terminated, does not
// hand out what workers still hold of that one.
func TestANewOwnerLeavesWorkersWhatTheyStillHold(t *testing.T) {
	o := newOwner(100)
	o.Started = start
	holding := func(worker string, units float64, rest time.Duration) LeaseRequest {
		r := ask(worker, 300)
		r.Holds, r.For = Units(units), duration.Duration(rest)
		return r
	}
	require.Equal(t, 25*Unit, o.Lease(start, holding("a", 25, 20*time.Second)).UnitsPerSecond, "not all of it: others hold the rest")
	require.Zero(t, o.Lease(at(time.Second), ask("new", 300)).UnitsPerSecond)
	require.Equal(t, 25*Unit, o.Lease(at(2*time.Second), holding("b", 25, 10*time.Second)).UnitsPerSecond)
	require.Equal(t, 25*Unit, o.Lease(at(6*time.Second), holding("a", 25, 2*time.Second)).UnitsPerSecond)
	sum := Milli(0)
	for _, worker := range []string{"a", "b", "new"} {
		sum += o.Lease(at(21*time.Second), ask(worker, 300)).UnitsPerSecond
	}
	for _, worker := range []string{"a", "b", "new"} {
		o.Lease(at(23*time.Second), ask(worker, 300))
	}
	require.Positive(t, sum)
	leased, _ := o.leased()
	require.Greater(t, leased, 95*Unit, "when those leases are over, all is shared again")
}

// Whoever comes while the fleet pays for what it consumed waits until that is
// paid: a second worker does not double what the table is asked for.
func TestANewcomerWaitsForWhatTheFleetOwes(t *testing.T) {
	o := newOwner(5)
	o.Lease(start, ask("a", 1))
	o.Lease(at(6*time.Second), LeaseRequest{Worker: "a", Demand: Demand{2: Units(60)}, Consumed: 381 * Unit}) // owes 351
	lease := o.Lease(at(7*time.Second), ask("b", 60))
	require.Zero(t, lease.UnitsPerSecond)
	require.InDelta(t, 70, lease.RenewAfter.Std().Seconds(), 1, "asks when it is paid")

	o.Release(at(8*time.Second), "a")
	require.InDelta(t, 341, o.owes(at(8*time.Second)).Float(), 1, "also when the debtor has gone")
	require.Positive(t, o.Lease(at(78*time.Second), ask("b", 60)).UnitsPerSecond)
	require.Zero(t, o.owes(at(90*time.Second)))
	require.Positive(t, o.Lease(at(90*time.Second), ask("c", 60)).Validity())
}

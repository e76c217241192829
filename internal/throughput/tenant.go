package throughput

import (
	"errors"
	"time"

	"sluice/internal/backoff"
)

const (
	// earlySoonest bounds from above how long one who wants more waits since it last
	// asked: a quarter of its lease, or this where the lease is long for another
	// reason than the size of the fleet.
	earlySoonest = SteadyTime / 4
	// seenEnough is how long a refused call is watched before the owner is told, so
	// that it learns how much goes through in a second.
	seenEnough = time.Second
	// renewsWithin is how much earlier or later than told a worker renews, in parts of
	// the time, so that a fleet that was started together drifts apart.
	renewsWithin = 0.05
)

// ErrBusy is why an owner gave no answer that was asked by more workers at a time
// than it can take.
var ErrBusy = errors.New("asked by too many at a time")

var (
	// askAgain is the wait after an owner did not answer.
	askAgain = backoff.Policy{Base: 2 * time.Second, Cap: 30 * time.Second} //nolint:gochecknoglobals // a constant
	// askBusy is that of one that is asked by too many: however large the fleet is, it
	// soon waits long enough for all of them together. It is spread widely, so that some
	// come back early and leave room.
	askBusy = backoff.Policy{Base: 20 * time.Second, Cap: 2 * time.Minute} //nolint:gochecknoglobals // a constant
)

// A Tenant is a worker's side of its leases of one budget: what it may consume,
// also when the owner can't be reached, and when it asks again. Random numbers in
// [0, 1) are handed in. The zero value has no lease and asks at once.
type Tenant struct {
	lease    Lease
	has      bool
	asked    time.Time // when the lease in force was asked for
	told     Milli     // the demand told then
	next     time.Time
	early    bool // it asks before its time already
	failures int
	busy     int // of them, those for want of room
}

// Next is when to ask.
func (t *Tenant) Next() time.Time { return t.next }

// Lease is the last lease that was given; ok is false where there was none.
func (t *Tenant) Lease() (lease Lease, ok bool) { return t.lease, t.has }

// Failures is how often in a row the owner did not answer.
func (t *Tenant) Failures() int { return t.failures }

// Granted takes in the answer to a question.
func (t *Tenant) Granted(asked, now time.Time, told Milli, l Lease, random float64) {
	*t = Tenant{lease: l, has: true, asked: asked, told: told}
	after := l.RenewAfter.Std()
	if after <= 0 {
		after = l.Validity() * 3 / 4
	}
	after += time.Duration(float64(after) * renewsWithin * (2*random - 1))
	t.next = asked.Add(after)
	if soonest := now.Add(time.Second); t.next.Before(soonest) {
		t.next = soonest // a slow owner is not asked even more
	}
}

// Failed is a question without an answer: the next one comes later and later, at
// random, so that a fleet does not come back all at once; and much later where the
// owner has too many to answer.
func (t *Tenant) Failed(now time.Time, err error, random float64) {
	t.failures++
	ceiling := askAgain.Ceiling(t.failures)
	least := ceiling / 2
	if errors.Is(err, ErrBusy) {
		t.busy++
		ceiling = askBusy.Ceiling(t.busy)
		least = ceiling / 10
	}
	t.next = now.Add(least + time.Duration(float64(ceiling-least)*random))
}

// Wants asks early for more where a worker's demand has risen above what it told
// and what it has.
func (t *Tenant) Wants(now time.Time, demand Milli, random float64) {
	if !t.has || t.lease.Unlimited || t.lease.Paused || demand <= t.lease.UnitsPerSecond || demand <= t.told+t.told/8 {
		return
	}
	t.hurry(now, random)
}

// Refused asks early where the service throttled the worker's calls.
func (t *Tenant) Refused(now time.Time, random float64) {
	if t.has {
		t.hurry(now.Add(seenEnough), random)
	}
}

// hurry brings the next question forward, once in a lease: no sooner than a quarter
// of it after the last one, and spread over as long as the owner says, or another
// quarter.
func (t *Tenant) hurry(soonest time.Time, random float64) {
	if t.early || t.failures > 0 {
		return
	}
	quarter := t.lease.Validity() / 4
	spread := quarter
	if s := t.lease.Spread.Std(); s > 0 {
		spread = min(s, quarter)
	}
	if earliest := t.asked.Add(min(quarter, max(earlySoonest, t.lease.Spread.Std()/2))); earliest.After(soonest) {
		soonest = earliest
	}
	soonest = soonest.Add(time.Duration(float64(spread) * random))
	t.early = true
	if soonest.Before(t.next) {
		t.next = soonest
	}
}

// Share is what the worker may consume a second at now, where it consumed at a rate
// lately. An owner that can't be reached leaves it its share for one lease more;
// then it is halved every lease, down to a unit a second. One that never had a lease
// goes at a unit a second once the owner did not answer.
func (t *Tenant) Share(now time.Time, rate Milli) (units Milli, unlimited bool) {
	if !t.has {
		if t.failures > 0 {
			return Unit, false
		}
		return 0, false
	}
	length := max(t.lease.Validity(), LeaseTime)
	over := now.Sub(t.asked) - 2*length
	switch {
	case over < 0 || t.failures == 0 || t.lease.Paused:
		return t.lease.UnitsPerSecond, t.lease.Unlimited
	case t.lease.Unlimited:
		units = max(rate, 2*Unit)
	case t.lease.UnitsPerSecond == 0:
		return Unit, false
	default:
		units = t.lease.UnitsPerSecond
	}
	least := min(units, Unit)
	for ; over >= 0 && units > least; over -= length {
		units /= 2
	}
	return max(units, least), false
}

// Holds is what a worker still has of its lease, and for how long, which it tells
// with its next question.
func (t *Tenant) Holds(now time.Time) (units Milli, rest time.Duration) {
	rest = t.asked.Add(t.lease.Validity()).Sub(now)
	if !t.has || rest <= 0 {
		return 0, 0
	}
	return t.lease.UnitsPerSecond, rest
}

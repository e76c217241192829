package taskclaim

import (
	"fmt"
	"hash/fnv"
	"time"
)

// Margin is how long before a claim runs out work under it must have stopped:
// after takenUntil the service may give the task to somebody else.
const Margin = 30 * time.Second

// A Lease is a claim for a time, in the clock of whoever holds the Lease.
type Lease struct {
	TakenAt    time.Time `json:"takenAt"`
	TakenUntil time.Time `json:"takenUntil"`
	// Spare is how long before the end the work stops, where that does not
	// follow from the two: a renewal that extends nothing must not shrink it.
	Spare time.Duration `json:"spare,omitempty"`
}

// Local turns the service's takenUntil into the clock of the caller, who sent
// the request at sent, had its answer at received, and read date in the answer's
// Date header (zero where there is none: clocks are taken as equal). The header
// is in whole seconds and as old as the answer's way, so the service's clock may
// be ahead of it by a second and the round trip; the lease is taken as ending so
// much earlier, since stopping too late is the fault that hurts.
func Local(takenUntil, date, sent, received time.Time) Lease {
	if date.IsZero() {
		return Lease{TakenAt: received, TakenUntil: takenUntil}
	}
	left := takenUntil.Sub(date) - time.Second
	return Lease{TakenAt: received, TakenUntil: sent.Add(left)}
}

// ReclaimAt is when to renew: before ahead of the end, but not before half of
// the claim's time is over, so that short claims are not renewed all the time.
// random in [0, 1) moves it up to a tenth of the remaining time ahead, which
// spreads tasks that were claimed together. It is never after StopAt, and where
// before would have it so, it is half-way there.
func (l Lease) ReclaimAt(before time.Duration, random float64) time.Time {
	stop := l.StopAt()
	half := l.TakenAt.Add(l.TakenUntil.Sub(l.TakenAt) / 2)
	if !half.Before(stop) { // nothing was extended, and there is no time to ask again
		return stop
	}
	at := l.TakenUntil.Add(-before)
	if !at.Before(stop) {
		at = half.Add(stop.Sub(half) / 2)
	}
	if at.Before(half) {
		return half
	}
	jitter := time.Duration(random * float64(at.Sub(half)) / 10)
	return at.Add(-jitter)
}

// StopAt is when unreclaimed work is cancelled: Margin before the end, or a
// quarter of a claim shorter than four margins, since else its renewal, which is
// due at half, would have no time.
func (l Lease) StopAt() time.Time { return l.TakenUntil.Add(-l.margin()) }

func (l Lease) margin() time.Duration {
	if l.Spare > 0 {
		return l.Spare
	}
	return min(Margin, l.TakenUntil.Sub(l.TakenAt)/4)
}

// Renew returns the lease after the service answered a reclaim; it never ends
// earlier than before. An answer that adds less than the margin is no new claim:
// what is left would look like a short one, whose margin shrinks to nothing as it
// is renewed again and again, and the work would stop when the claim is over.
func (l Lease) Renew(next Lease) Lease {
	if next.TakenUntil.Sub(l.TakenUntil) >= l.margin() {
		return next
	}
	next.Spare = l.margin()
	if next.TakenUntil.Before(l.TakenUntil) {
		next.TakenUntil = l.TakenUntil
	}
	return next
}

// Spread is a number in [0, 1) that differs from task to task and from renewal
// to renewal, and is the same each time it is asked: jitter for workflow code,
// which must not draw random numbers.
func Spread(taskID string, runID int64, n int) float64 {
	h := fnv.New32a()
	fmt.Fprintf(h, "%s/%d/%d", taskID, runID, n)
	return float64(h.Sum32()) / (1 << 32)
}

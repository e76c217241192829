package throughput

import (
	"math/bits"
	"time"
)

// MaxWait is the longest that Budget.Wait tells, also when nothing comes in at
// all: by then somebody has asked again.
const MaxWait = time.Minute

// A Budget is the token bucket of one resource. Calls go out while its level is
// not below zero and are charged in full, so that an expensive one leaves a debt
// that later ones wait for; what is saved up while nothing is sent is bounded by
// the burst. A debt is paid by time alone: also while nothing comes in, at the
// rate of before. The zero value is not ready; make one with NewBudget.
type Budget struct {
	rate      Milli // per second; 0: nothing comes in
	paying    Milli // the last rate above 0, by which debts are paid while it is 0
	unlimited bool
	burst     time.Duration
	level     Milli
	fraction  uint64 // of a thousandth, in 1e-9
	at        time.Time
}

// NewBudget is an empty budget without income that saves up at most what comes
// in during burst.
func NewBudget(now time.Time, burst time.Duration) *Budget { return &Budget{burst: burst, at: now} }

// SetRate changes what comes in from now on, in thousandths a second.
func (b *Budget) SetRate(now time.Time, rate Milli) {
	b.refill(now)
	b.rate, b.unlimited = max(rate, 0), false
	if b.rate > 0 {
		b.paying = b.rate
	}
	b.level = min(b.level, b.most())
}

// SetUnlimited lifts the limit until the next SetRate; debts are forgiven.
func (b *Budget) SetUnlimited(now time.Time) {
	b.refill(now)
	b.unlimited, b.level, b.fraction = true, max(b.level, 0), 0
}

// Rate is what comes in, and whether there is a limit.
func (b *Budget) Rate() (rate Milli, limited bool) { return b.rate, !b.unlimited }

// Ready reports whether a call may go out.
func (b *Budget) Ready(now time.Time) bool {
	b.refill(now)
	return b.unlimited || (b.level >= 0 && b.rate > 0)
}

// Charge takes cost out; a negative cost pays back. Debt has no bound.
func (b *Budget) Charge(now time.Time, cost Milli) {
	b.refill(now)
	if b.unlimited {
		return
	}
	b.level = min(b.level-cost, b.most())
}

// Level is what is saved up, negative when it is owed.
func (b *Budget) Level(now time.Time) Milli {
	b.refill(now)
	return b.level
}

// Wait is how long until a call may go out after others that cost ahead in all;
// at most MaxWait.
func (b *Budget) Wait(now time.Time, ahead Milli) time.Duration {
	b.refill(now)
	missing := ahead - b.level
	switch {
	case b.unlimited:
		return 0
	case b.rate == 0:
		return MaxWait
	case missing <= 0:
		return 0
	}
	// Rounded up, so that the call is ready when the wait is over.
	seconds, rest := missing/b.rate, missing%b.rate
	if seconds >= Milli(MaxWait/time.Second) {
		return MaxWait
	}
	nanos := mulDiv(rest, Milli(time.Second), b.rate)
	if mulDiv(nanos, b.rate, Milli(time.Second)) < rest {
		nanos++
	}
	return min(time.Duration(seconds)*time.Second+time.Duration(nanos), MaxWait)
}

func (b *Budget) most() Milli {
	high, low := bits.Mul64(uint64(b.rate), uint64(b.burst))
	saved, _ := bits.Div64(high, low, uint64(time.Second))
	return Milli(saved)
}

// refill adds what came in since the last look, exactly: the part of a
// thousandth that does not count yet is kept.
func (b *Budget) refill(now time.Time) {
	passed := now.Sub(b.at)
	if passed <= 0 {
		return // a clock that went back gives nothing and takes nothing
	}
	b.at = now
	if b.unlimited || b.paying == 0 {
		return
	}
	high, low := bits.Mul64(uint64(b.paying), uint64(passed))
	low, carry := bits.Add64(low, b.fraction, 0)
	high += carry
	if high >= uint64(time.Second) { // more than any debt: centuries at this rate
		b.level, b.fraction = b.most(), 0
		return
	}
	came, fraction := bits.Div64(high, low, uint64(time.Second))
	most := b.most()
	if room := uint64(most - b.level); came >= room {
		b.level, b.fraction = most, 0
		return
	}
	b.level, b.fraction = b.level+Milli(came), fraction
}

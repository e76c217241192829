// Package rules has the arithmetic of the services' limits. It knows no network
// and no clock: whoever asks says what time it is.
package rules

import "time"

// A Bucket holds tokens that come back at a constant rate. It may go into debt:
// DynamoDB learns what a read costs only by doing it, and then refuses what
// follows until the debt is paid. A rate of 0 is no limit.
type Bucket struct {
	rate, capacity, tokens float64
	at                     time.Time
}

// NewBucket makes a full bucket: so many tokens a second, and at most so many
// saved up.
func NewBucket(rate, capacity float64, now time.Time) *Bucket {
	return &Bucket{rate: rate, capacity: capacity, tokens: capacity, at: now}
}

// Set changes rate and capacity. What had been saved is kept as far as it fits.
func (b *Bucket) Set(rate, capacity float64, now time.Time) {
	b.refill(now)
	if b.rate == 0 {
		b.tokens = capacity
	}
	b.rate, b.capacity, b.tokens = rate, capacity, min(b.tokens, capacity)
}

// Fits tells whether n tokens may be taken now. More than the bucket can ever
// hold is let through once it is full, else it would never be.
func (b *Bucket) Fits(n float64, now time.Time) bool {
	b.refill(now)
	return b.rate == 0 || b.tokens >= min(n, b.capacity)
}

// Take takes n tokens, into debt if need be; a negative n gives back.
func (b *Bucket) Take(n float64, now time.Time) {
	b.refill(now)
	b.tokens = min(b.tokens-n, b.capacity)
}

// Level is what the bucket holds; negative is a debt.
func (b *Bucket) Level(now time.Time) float64 {
	b.refill(now)
	return b.tokens
}

func (b *Bucket) refill(now time.Time) {
	if passed := now.Sub(b.at); passed > 0 {
		b.tokens = min(b.capacity, b.tokens+b.rate*passed.Seconds())
		b.at = now
	}
}

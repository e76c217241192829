// Package backoff computes how long to wait before a repeat: exponential,
// capped, with full jitter. It neither waits nor draws random numbers.
package backoff

import "time"

// Policy is a capped exponential. The zero value waits not at all.
type Policy struct {
	Base time.Duration // wait before the first repeat, before jitter
	Cap  time.Duration // no wait is longer
}

// Ceiling is the wait before repeat n (counted from 1) without jitter:
// Base·2^(n−1), at most Cap.
func (p Policy) Ceiling(n int) time.Duration {
	d := p.Base
	for i := 1; i < n && d < p.Cap; i++ {
		d *= 2
	}
	if d > p.Cap {
		return p.Cap
	}
	return d
}

// Delay is the wait before repeat n with full jitter: random in [0, 1) picks a
// point between nothing and the ceiling, so that many waiters spread out.
func (p Policy) Delay(n int, random float64) time.Duration {
	return time.Duration(float64(p.Ceiling(n)) * random)
}

package harness

import (
	"context"
	"errors"
	"testing"
	"time"
)

// patience is how long Await waits: far beyond what an idle machine needs, so
// that a busy one does not fail a sound test.
const patience = 90 * time.Second

// Await polls until check answers nil, and fails the test with its last error
// when that takes too long. An error made with Never ends it at once.
func Await(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	AwaitFor(t, patience, what, check)
}

// AwaitFor is Await with a patience of its own.
func AwaitFor(t testing.TB, atMost time.Duration, what string, check func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), atMost)
	defer cancel()
	for {
		err := check(ctx)
		var never neverError
		switch {
		case err == nil:
			return
		case errors.As(err, &never):
			t.Fatalf("%s: %v", what, err)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %s: %v", what, atMost, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Never says that a condition can't become true any more.
func Never(err error) error { return neverError{err} }

type neverError struct{ error }

func (e neverError) Unwrap() error { return e.error }

package kinesis

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
)

// marker heartbeats with a checkpoint and knows what the server has of it. An
// activity's own heartbeat is batched and tells neither whether nor when it
// arrived; here it must have arrived before more may be sent than it admits to.
type marker struct {
	record   func(ctx context.Context, details any) error
	snapshot func() putState

	kick chan struct{}
	mu   sync.Mutex
	have int64         // no record from here on may be sent yet
	news chan struct{} // closed when have has grown
}

const (
	markEvery = 4 * time.Second       // and before more is sent than the last one admits to
	markLeast = 50 * time.Millisecond // between two, however fast records go
)

// startMarker heartbeats until stop is called. The context it gives ends like
// that of activities.KeepAlive. The first mark is made when somebody waits for one,
// or an interval later.
func startMarker(ctx context.Context, record func(context.Context, any) error, snapshot func() putState) (m *marker, alive context.Context, stop func()) {
	alive, cancel := context.WithCancelCause(ctx)
	m = &marker{record: record, snapshot: snapshot, kick: make(chan struct{}, 1), news: make(chan struct{})}
	var beating sync.WaitGroup
	done := make(chan struct{})
	beating.Go(func() { m.run(ctx, cancel, done) })
	return m, alive, sync.OnceFunc(func() {
		close(done)
		beating.Wait()
		cancel(nil)
	})
}

func (m *marker) run(ctx context.Context, cancel context.CancelCauseFunc, done <-chan struct{}) {
	tick := time.NewTicker(activities.WithinTimeout(ctx, markEvery))
	defer tick.Stop()
	stopping := activity.GetWorkerStopChannel(ctx)
	for {
		select {
		case <-tick.C:
		case <-m.kick:
		case <-stopping:
			// The caller drains and leaves its last mark itself; until then the
			// attempt must go on being alive.
			cancel(activities.ErrWorkerStopping)
			stopping = nil
			continue
		case <-ctx.Done():
			cancel(context.Cause(ctx))
			return
		case <-done:
			return
		}
		m.mark(ctx, cancel)
		select {
		case <-time.After(markLeast):
		case <-done:
			return
		}
	}
}

// mark records the present state. A failure to is not the activity's: the next
// mark comes soon, and the server ends an attempt that it hears nothing of.
func (m *marker) mark(ctx context.Context, cancel context.CancelCauseFunc) {
	state := m.snapshot()
	ctx, end := context.WithTimeout(ctx, 5*time.Second)
	defer end()
	err := m.record(ctx, state)
	var canceled *temporal.CanceledError
	switch {
	case err == nil:
		m.mu.Lock()
		m.have = state.Reserved
		close(m.news)
		m.news = make(chan struct{})
		m.mu.Unlock()
	case errors.As(err, &canceled), errors.Is(err, activity.ErrActivityPaused), errors.Is(err, activity.ErrActivityReset), isGone(err):
		cancel(err)
	}
}

// may waits until the server's mark admits that record n was sent.
func (m *marker) may(ctx context.Context, n int64) error {
	for {
		m.mu.Lock()
		have, news := m.have, m.news
		m.mu.Unlock()
		if n < have {
			return nil
		}
		m.soon()
		select {
		case <-news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// soon asks for a mark ahead of time.
func (m *marker) soon() {
	activities.Notify(m.kick)
}

// nearly says that record n is in the last half of what the mark admits.
func (m *marker) nearly(n, ahead int64) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return n+ahead/2 > m.have
}

// isGone says that the server knows no such attempt any more.
func isGone(err error) bool {
	var gone *serviceerror.NotFound
	return errors.As(err, &gone)
}

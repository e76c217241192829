package kinesis

import (
	"context"
	"sync"
	"time"

	"sluice/activities"
)

// marker heartbeats with a checkpoint and knows what the server has of it. An
// activity's own heartbeat is batched and tells neither whether nor when it
// arrived; here it must have arrived before more may be sent than it admits to.
type marker struct {
	record   func(ctx context.Context, details any) error
	snapshot func() putState

	last time.Time // the last mark, of the goroutine that marks
	kick chan struct{}
	mu   sync.Mutex
	have int64         // no record from here on may be sent yet
	news chan struct{} // closed when have has grown
}

const (
	markEvery = 4 * time.Second       // and before more is sent than the last one admits to
	markLeast = 50 * time.Millisecond // between two, however fast records go
)

// startMarker heartbeats until stop is called (activities.KeepBeating). The first mark
// is made when somebody waits for one, or an interval later.
func startMarker(ctx context.Context, record func(context.Context, any) error, snapshot func() putState) (m *marker, alive context.Context, stop func()) {
	m = &marker{record: record, snapshot: snapshot, kick: make(chan struct{}, 1), news: make(chan struct{})}
	alive, stop = activities.KeepBeating(ctx, markEvery, m.kick, false, m.mark)
	return m, alive, stop
}

// mark records the present state. A failure to is not the activity's: the next
// mark comes soon, and the server ends an attempt that it hears nothing of.
func (m *marker) mark(ctx context.Context) error {
	if err := activities.Sleep(ctx, time.Until(m.last.Add(markLeast))); err != nil {
		return err
	}
	state := m.snapshot()
	ctx, end := context.WithTimeout(ctx, 5*time.Second)
	defer end()
	err := m.record(ctx, state)
	m.last = time.Now()
	if err == nil {
		m.mu.Lock()
		m.have = state.Reserved
		close(m.news)
		m.news = make(chan struct{})
		m.mu.Unlock()
	}
	return activities.EndingAnswer(err)
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

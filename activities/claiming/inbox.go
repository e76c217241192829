package claiming

import (
	"context"
	"sync"
	"time"

	"sluice/internal/errortype"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// inbox has the messages that are in flight: it receives them, keeps them invisible
// to others, gives them back, moves poison aside and deletes what is dealt with. It
// also keeps what is seen of the queues. It knows queues by their interfaces only, and
// nothing of Temporal.
type inbox struct {
	visibility time.Duration
	limits     taskmessage.Limits
	edge       edge
	log        logger
	books      *ledger
	count      func(name, queue string)
	// trouble has the workflow know of what the claimer fails at; nil tells nobody.
	trouble func(errortype.Trouble)

	mu      sync.Mutex
	held    map[*held]bool
	queues  map[string]*queueView
	excused idMemory          // excused deliveries that their messages do not tell
	copied  idMemory          // copied to the poison queue
	stuck   errortype.Trouble // why no task can be started

	removals sync.WaitGroup
}

// delivery is a message as a queue gave it out.
type delivery struct {
	ID           string
	Receipt      string
	Text         string
	DequeueCount int64
	InsertedAt   time.Time
	Until        time.Time // invisible to others; zero: not known
}

// source is a queue that can be polled, and its messages deleted.
type source interface {
	Name() string
	Receive(ctx context.Context, n int) ([]delivery, error)
	Remove(ctx context.Context, id, receipt string) error
}

// owned is a queue whose messages we may also change.
type owned interface {
	source
	Update(ctx context.Context, id, receipt, text string, visibility time.Duration) (newReceipt string, err error)
}

// edge is what the inbox needs of where its queues are.
type edge interface {
	// named finds a queue by its name; a queue of others is none.
	named(name string) (source, bool)
	// names lists the queues in order of priority.
	names() []string
	// status takes an error apart: the HTTP status, 0 without an answer, and the code.
	status(err error) (status int, code string)
	// errorType is the type of an error in the words of the project.
	errorType(queue string, err error) string
	// conceal takes secrets out of a text.
	conceal(text string) string
	// copyAside writes a poison record.
	copyAside(ctx context.Context, h *held, reason string) error
	// refreshAccess is called when a delete was forbidden.
	refreshAccess(ctx context.Context) error
}

// logger is what is logged to.
type logger interface {
	Debug(msg string, keyvals ...any)
	Info(msg string, keyvals ...any)
	Warn(msg string, keyvals ...any)
	Error(msg string, keyvals ...any)
}

func newInbox(in wire.PollInput, edge edge, log logger, books *ledger, count func(name, queue string)) *inbox {
	b := &inbox{
		visibility: in.Spec.VisibilityTimeout.Std(), edge: edge, log: log, books: books, count: count,
		limits:  taskmessage.Limits{Warn: in.Spec.WarnDequeueCount, Poison: in.Spec.MaxDequeueCount},
		excused: rememberAll(in.Carry.Excused), copied: rememberAll(in.Carry.Copied),
		held: map[*held]bool{}, queues: map[string]*queueView{},
	}
	for _, q := range in.Queues {
		b.queues[q.Name] = &queueView{state: q}
	}
	return b
}

// restore takes over from an attempt that was given up, by its last heartbeat.
func (b *inbox) restore(m wire.PollMemory) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.excused, b.copied = rememberAll(m.Carry.Excused), rememberAll(m.Carry.Copied)
	for _, q := range m.Queues {
		b.queues[q.Name] = &queueView{state: q}
	}
}

// remember writes into a heartbeat or a report what has to go on.
func (b *inbox) remember(m *wire.PollMemory) {
	names := b.edge.names()
	b.mu.Lock()
	defer b.mu.Unlock()
	m.Queues = b.states(names)
	m.Carry.Excused, m.Carry.Copied = b.excused.list(), b.copied.list()
	m.Carry.Trouble = b.inTrouble(names)
	for h := range b.held {
		if h.owed {
			m.Carry.Owed = append(m.Carry.Owed, wire.OwedDelete{Queue: h.from.Name(), MessageID: h.ID, Receipt: h.Receipt, Until: h.Until})
		}
	}
}

// aside runs f beside the loop; the activity waits for it at its end.
func (b *inbox) aside(f func()) chan struct{} {
	done := make(chan struct{})
	b.removals.Add(1)
	go func() {
		defer b.removals.Done()
		defer close(done)
		f()
	}()
	return done
}

// settle gives deletes under way a moment; the rest is owed.
func (b *inbox) settle(ctx context.Context) {
	ended := make(chan struct{})
	go func() {
		b.removals.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(settleTime):
	case <-ctx.Done():
	}
}

// settleTime is how long deletes are waited for before a report.
const settleTime = time.Second

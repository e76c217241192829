package claiming

import (
	"context"
	"sync"
	"time"

	"sluice/internal/wire"
)

// ends gathers the ends of tasks, so that one signal tells a claimer of many. The
// first of a quiet time goes at once; what comes soon after goes together. How soon
// follows from how long the tasks took: a slot is empty meanwhile.
type ends struct {
	signal func(ctx context.Context, claimer string, tasks []wire.FinishedTask) error

	mu   sync.Mutex
	lots map[string]*lot // by claimer; one is there while somebody sends or has just sent
}

// lot is the ends that the next signal to a claimer tells.
type lot struct {
	tasks []wire.FinishedTask
	took  time.Duration // the shortest of them
	told  chan struct{} // closed when the signal has been answered
	err   error         // its answer, once told is closed
}

const (
	gatherLeast = 50 * time.Millisecond // between two signals of a worker to a claimer
	gatherMost  = time.Second
	mostEnds    = 500 // of one signal, which has to fit a payload
	tellTimeout = 10 * time.Second
)

// gathering is how long to gather ends after tasks that took so long: their slots are
// empty for a quarter of that at most.
func gathering(took time.Duration) time.Duration {
	return min(max(gatherLeast, took/4), gatherMost)
}

// tell returns when a signal that tells of the task's end has been answered.
func (e *ends) tell(ctx context.Context, in wire.FinishedInput) error {
	mine := e.add(in)
	select {
	case <-mine.told:
		return mine.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// add enters a task in the lot that is sent next, and has somebody send it.
func (e *ends) add(in wire.FinishedInput) *lot {
	claimer := in.Claimer.WorkflowID
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lots == nil {
		e.lots = map[string]*lot{}
	}
	next := e.lots[claimer]
	switch {
	case next == nil:
		next = newLot()
		e.lots[claimer] = next
		go e.send(claimer)
	case len(next.tasks) >= mostEnds: // goes by itself, beside the one that is gathered
		full := next
		next = newLot()
		e.lots[claimer] = next
		go e.answer(claimer, full)
	}
	if took := in.Took.Std(); len(next.tasks) == 0 || took < next.took {
		next.took = took
	}
	next.tasks = append(next.tasks, in.Task)
	return next
}

func newLot() *lot { return &lot{told: make(chan struct{})} }

// send sends lot after lot to a claimer, until none has gathered.
func (e *ends) send(claimer string) {
	for {
		due := e.take(claimer)
		if due == nil {
			return
		}
		e.answer(claimer, due)
		<-time.After(gathering(due.took))
	}
}

// take is the lot that has gathered; nil ends the sending.
func (e *ends) take(claimer string) *lot {
	e.mu.Lock()
	defer e.mu.Unlock()
	due := e.lots[claimer]
	if len(due.tasks) == 0 {
		delete(e.lots, claimer)
		return nil
	}
	e.lots[claimer] = newLot()
	return due
}

// answer sends a lot and tells all that wait for it how that went.
func (e *ends) answer(claimer string, due *lot) {
	ctx, cancel := context.WithTimeout(context.Background(), tellTimeout)
	defer cancel()
	due.err = e.signal(ctx, claimer, due.tasks)
	close(due.told)
}

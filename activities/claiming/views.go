package claiming

import (
	"time"

	"sluice/internal/errortype"
	"sluice/internal/wire"
)

// queueView is a queue as the poller sees it.
type queueView struct {
	state    wire.QueueState
	failures int       // in a row
	until    time.Time // not polled before
}

// view finds or makes the view of a queue; b.mu is held.
func (b *inbox) view(name string) *queueView {
	v := b.queues[name]
	if v == nil {
		v = &queueView{state: wire.QueueState{Name: name}}
		b.queues[name] = v
	}
	return v
}

func (b *inbox) ready(name string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !time.Now().Before(b.view(name).until)
}

// failed notes that a queue could not be polled: it rests for a time that
// grows to 30 s, and the others go on.
func (b *inbox) failed(name string, err error) {
	b.mu.Lock()
	v := b.view(name)
	v.failures++
	v.until = time.Now().Add(retryDelay(v.failures))
	if v.failures > 1 { // the first is mended by a repeat most often
		v.state.Trouble = b.edge.errorType(name, err)
	}
	b.mu.Unlock()
	b.noteError(name, err)
	b.tellTrouble()
}

// noteError counts an error and shows it. One that differs from the last is news.
func (b *inbox) noteError(name string, err error) {
	text := b.edge.conceal(err.Error())
	b.mu.Lock()
	v := b.view(name)
	v.state.Errors++
	changed := v.state.LastError != text
	v.state.LastError = text
	b.mu.Unlock()
	b.count("sluice_claim_errors", name)
	if changed {
		b.books.tell(time.Now())
		b.log.Warn("claiming goes on after an error", "queue", name, "error", text)
	}
}

// worked ends a row of failures.
func (b *inbox) worked(name string) {
	b.mu.Lock()
	v := b.view(name)
	recovered := v.failures > 0 || v.state.Trouble != ""
	v.failures, v.until, v.state.Trouble = 0, time.Time{}, ""
	b.mu.Unlock()
	if recovered {
		b.tellTrouble()
		b.log.Info("queue works again", "queue", name)
	}
}

// tellTrouble has the workflow know of the first queue that does not work, or of what
// keeps tasks from being started.
func (b *inbox) tellTrouble() {
	names := b.edge.names()
	b.mu.Lock()
	trouble := b.inTrouble(names)
	b.mu.Unlock()
	if b.trouble != nil {
		b.trouble(trouble)
	}
}

// inTrouble is what the claimer fails at; b.mu is held.
func (b *inbox) inTrouble(names []string) errortype.Trouble {
	for _, q := range b.states(names) {
		if q.Trouble != "" {
			return errortype.Trouble{Type: q.Trouble, Error: q.LastError}
		}
	}
	return b.stuck
}

// noteStuck takes down whether tasks can be started at all.
func (b *inbox) noteStuck(refused bool, failures int) {
	var stuck errortype.Trouble
	switch {
	case refused:
		stuck = errortype.Trouble{Type: errortype.InvalidInput, Error: "Temporal refuses what the claimer was set to"}
	case failures > 1:
		stuck = errortype.Trouble{Type: errortype.Unavailable, Error: "nobody decides about tasks: the service or Temporal fails"}
	}
	b.mu.Lock()
	changed := stuck != b.stuck
	b.stuck = stuck
	b.mu.Unlock()
	if changed {
		b.tellTrouble()
	}
}

// news shows something about a queue that is no failure of it.
func (b *inbox) news(name, text string) {
	b.mu.Lock()
	b.view(name).state.LastError = b.edge.conceal(text)
	b.mu.Unlock()
	b.books.tell(time.Now())
}

// states lists the queues, in order of priority; b.mu is held.
func (b *inbox) states(names []string) []wire.QueueState {
	var states []wire.QueueState
	listed := map[string]bool{}
	add := func(name string) {
		if v := b.queues[name]; v != nil && !listed[name] {
			states = append(states, v.state)
			listed[name] = true
		}
	}
	for _, name := range names {
		add(name)
	}
	return states
}

// measured keeps what a look at a queue's length found.
func (b *inbox) measured(name string, visible, invisible, approximate int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	v := b.view(name)
	v.state.Visible, v.state.Invisible, v.state.Approximate = visible, invisible, approximate
}

// signedURLsName stands for the source of signed URLs in the list of queues.
const signedURLsName = "signed URLs"

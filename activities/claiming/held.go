package claiming

import (
	"context"
	"sync"
	"time"

	"sluice/internal/taskclaim"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// held is a message that we have from a queue and have not settled yet. Its
// delivery, owed and settled are guarded by the inbox's mu; busy makes extension
// and deletion exclude each other, since each makes the other's receipt stale.
type held struct {
	delivery
	from    source
	message taskmessage.Message
	broken  error // it is a poison record that does not have the whole message
	busy    sync.Mutex
	settled bool // no more extensions
	owed    bool // dealt with, to be deleted
	unsure  bool // an extension had no answer: the receipt may be old
}

// hold takes a delivery into care. Poison that was moved back by hand is the
// message again, and is extended and given back as that.
func (b *inbox) hold(from source, d delivery) *held {
	h := &held{delivery: d, from: from}
	if plain, err := taskmessage.Unpoisoned(d.Text); err != nil {
		h.broken = err
	} else {
		h.Text = plain
	}
	b.mu.Lock()
	b.held[h] = true
	b.mu.Unlock()
	return h
}

// adopt takes over a message whose deletion an earlier attempt owed.
func (b *inbox) adopt(ctx context.Context, o wire.OwedDelete) {
	from, ok := b.edge.named(o.Queue)
	if !ok {
		return // no longer one of ours: it comes back to whoever polls that queue
	}
	h := b.hold(from, delivery{ID: o.MessageID, Receipt: o.Receipt, Until: o.Until})
	b.deleteSoon(ctx, h)
}

// extendEvery is how often to look for messages whose time runs out.
func (b *inbox) extendEvery() time.Duration {
	return min(max(b.visibility/10, 100*time.Millisecond), 5*time.Second)
}

// extendHeld keeps the messages in care invisible: at half of the visibility
// timeout each is extended, and the newest receipt kept.
func (b *inbox) extendHeld(ctx context.Context) {
	half := b.visibility / 2
	var due []*held
	b.mu.Lock()
	for h := range b.held {
		if !h.settled && !h.Until.IsZero() && time.Until(h.Until) < half {
			due = append(due, h)
		}
	}
	b.mu.Unlock()
	inParallel(due, func(h *held) { b.extend(ctx, h) })
}

func (b *inbox) extend(ctx context.Context, h *held) {
	queue, ok := h.from.(owned)
	if !ok || !h.busy.TryLock() { // busy: it is being settled
		return
	}
	defer h.busy.Unlock()
	b.mu.Lock()
	settled, receipt := h.settled, h.Receipt
	b.mu.Unlock()
	if settled {
		return
	}
	asked := time.Now()
	next, err := queue.Update(ctx, h.ID, receipt, h.Text, b.visibility)
	b.mu.Lock()
	defer b.mu.Unlock()
	switch status, _ := b.edge.status(err); {
	case err == nil:
		h.Receipt, h.Until, h.unsure = next, asked.Add(b.visibility), false
	case status == taskclaim.NoAnswer:
		h.unsure = true
	case !taskclaim.Transient(status):
		h.Until = time.Time{} // no longer ours to extend; whoever has it finds the task started
		b.log.Info("message may reappear: its extension was refused", "queue", h.from.Name(), "messageId", h.ID, "error", err)
	}
}

// letGo ends the care for a message.
func (b *inbox) letGo(h *held) {
	b.mu.Lock()
	h.settled, h.owed = true, false
	delete(b.held, h)
	b.mu.Unlock()
}

// deleteSoon deletes a message in the background. Until it is gone it is owed:
// a repeat of the activity goes on with it.
func (b *inbox) deleteSoon(ctx context.Context, h *held) {
	b.mu.Lock()
	h.settled, h.owed = true, true
	b.mu.Unlock()
	b.aside(func() {
		if b.remove(ctx, h) {
			b.letGo(h)
		}
	})
}

// loudAfter is the number of failed deletes after which it is told as an error.
const loudAfter = 5

// remove deletes a message, again and again while that may help, and reports
// whether it is done with. What can't be deleted comes back one day and is
// recognised by its task.
func (b *inbox) remove(ctx context.Context, h *held) bool {
	h.busy.Lock()
	defer h.busy.Unlock()
	b.mu.Lock()
	receipt, until, unsure := h.Receipt, h.Until, h.unsure
	b.mu.Unlock()
	for attempt := 1; ; attempt++ {
		err := h.from.Remove(ctx, h.ID, receipt)
		if ctx.Err() != nil && err != nil {
			return false
		}
		status, code := b.edge.status(err)
		if err == nil {
			status = 204
		}
		switch taskclaim.DeleteFateOf(status, code) {
		case taskclaim.Deleted:
			b.mu.Lock()
			b.excused.forget(h.ID)
			b.copied.forget(h.ID)
			b.mu.Unlock()
			if err != nil {
				b.log.Debug("message was deleted already", "queue", h.from.Name(), "messageId", h.ID, "afterLostAnswer", unsure)
			}
			return true
		case taskclaim.Stale:
			b.log.Info("message may reappear: its receipt is old", "queue", h.from.Name(), "messageId", h.ID)
			return true
		case taskclaim.Refused:
			b.deleteFailed(h, err)
			return true
		case taskclaim.Forbidden:
			if err := b.edge.refreshAccess(ctx); err != nil {
				b.noteError(h.from.Name(), err)
			}
		}
		if attempt == loudAfter {
			b.deleteFailed(h, err)
		}
		if attempt >= loudAfter && (until.IsZero() || time.Now().After(until)) {
			return true // visible again by now: the next delivery is recognised
		}
		sleepUnless(ctx, retryDelay(attempt), nil)
	}
}

func (b *inbox) deleteFailed(h *held, err error) {
	b.log.Error("a message could not be deleted and will be delivered again", "queue", h.from.Name(), "messageId", h.ID, "error", err)
	b.count("sluice_claim_delete_failures", h.from.Name())
	b.noteError(h.from.Name(), err)
}

// keep gives a message back undecided: this delivery is excused, and it comes
// again after a delay that grows. With signed URLs it comes by itself.
func (b *inbox) keep(ctx context.Context, h *held, why string) {
	b.books.countExcused()
	b.mu.Lock()
	remembered := b.excused.get(h.ID)
	b.mu.Unlock()
	b.count("sluice_claim_excused", h.from.Name())
	b.log.Warn("message kept: its claim was not decided", "queue", h.from.Name(), "taskId", h.message.TaskID, "runId", h.message.RunID, "error", why)
	queue, ok := h.from.(owned)
	text, err := taskmessage.Excuse(h.Text, h.message.Excused+1)
	if !ok || err != nil {
		text = h.Text // full, or not ours to write: it is remembered here
		b.mu.Lock()
		b.excused.set(h.ID, remembered+1)
		b.mu.Unlock()
	}
	if ok {
		b.release(ctx, h, queue, text, retryDelay(int(min(h.message.Excused+remembered+1, 6))))
	}
	b.letGo(h)
}

// release makes a message visible again after a delay, with a new text. One that
// can't be released comes back when its visibility timeout is over.
func (b *inbox) release(ctx context.Context, h *held, queue owned, text string, delay time.Duration) {
	h.busy.Lock()
	defer h.busy.Unlock()
	b.mu.Lock()
	h.settled = true
	receipt := h.Receipt
	b.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	if _, err := queue.Update(ctx, h.ID, receipt, text, delay); err != nil {
		b.noteError(h.from.Name(), err)
	}
}

// read decodes a message and judges its number of deliveries. It returns the
// reason when the message is poison.
func (b *inbox) read(h *held) (reason string, ok bool) {
	if h.broken != nil {
		return h.broken.Error(), false
	}
	m, err := taskmessage.Decode(h.Text)
	m.Excused = m.ExcusedOf(h.DequeueCount)
	h.message = m
	b.mu.Lock()
	excused := m.Excused + b.excused.get(h.ID)
	b.mu.Unlock()
	if err != nil {
		return err.Error(), false
	}
	switch b.limits.Judge(h.DequeueCount, excused) {
	case taskmessage.Poison:
		return b.limits.TooOften(h.DequeueCount, excused), false
	case taskmessage.Warn:
		b.log.Warn("message is delivered often", "queue", h.from.Name(), "taskId", m.TaskID, "runId", m.RunID,
			"dequeueCount", h.DequeueCount, "excused", excused, "poisonAt", b.limits.Poison)
	}
	return "", true
}

// giveBack makes a message visible again as it is, at once.
func (b *inbox) giveBack(ctx context.Context, h *held) {
	if queue, ok := h.from.(owned); ok {
		b.release(ctx, h, queue, h.Text, time.Second)
	}
	b.letGo(h)
}

// inParallel calls f for each item, all at once: there are 32 at most.
func inParallel[T any](items []T, f func(T)) {
	var running sync.WaitGroup
	for _, item := range items {
		running.Add(1)
		go func() {
			defer running.Done()
			f(item)
		}()
	}
	running.Wait()
}

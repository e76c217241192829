package claiming

import (
	"context"
	"sync"
	"time"

	"sluice/activities/azurequeue"
	"sluice/internal/taskclaim"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// held is a message that we have from a queue and have not settled yet. Its
// delivery, owed and settled are guarded by the poller's mu; busy makes extension
// and deletion exclude each other, since each makes the other's receipt stale.
type held struct {
	azurequeue.Message
	from    azurequeue.Source
	message taskmessage.Message
	broken  error // it is a poison record that does not have the whole message
	busy    sync.Mutex
	settled bool // no more extensions
	owed    bool // dealt with, to be deleted
	unsure  bool // an extension had no answer: the receipt may be old
}

// hold takes a delivery into care. Poison that was moved back by hand is the
// message again, and is extended and given back as that.
func (p *poller) hold(from azurequeue.Source, d azurequeue.Message) *held {
	h := &held{Message: d, from: from}
	if plain, err := taskmessage.Unpoisoned(d.Text); err != nil {
		h.broken = err
	} else {
		h.Text = plain
	}
	p.mu.Lock()
	p.held[h] = true
	p.mu.Unlock()
	return h
}

// adopt takes over a message whose deletion an earlier attempt owed.
func (p *poller) adopt(ctx context.Context, o wire.OwedDelete) {
	from, ok := p.queueNamed(o.Queue)
	if !ok {
		return // no longer one of ours: it comes back to whoever polls that queue
	}
	h := p.hold(from, azurequeue.Message{ID: o.MessageID, Receipt: o.Receipt, Until: o.Until})
	p.deleteSoon(ctx, h)
}

func (p *poller) queueNamed(name string) (azurequeue.Source, bool) {
	if p.signed != nil {
		return &azurequeue.SignedQueue{Source: p.signed, HTTP: p.Service.HTTP, Queue: name}, true
	}
	for _, q := range p.in.Spec.Queues {
		if q.Name == name && p.Queues != nil {
			return p.storeQueue(name), true
		}
	}
	return nil, false
}

func (p *poller) storeQueue(name string) *azurequeue.Queue {
	q := azurequeue.NewQueue(p.Claimer.Queues, name)
	q.Visibility = p.in.Spec.VisibilityTimeout.Std()
	return q
}

// extendEvery is how often to look for messages whose time runs out.
func (p *poller) extendEvery() time.Duration {
	return min(max(p.in.Spec.VisibilityTimeout.Std()/10, 100*time.Millisecond), 5*time.Second)
}

// extendHeld keeps the messages in care invisible: at half of the visibility
// timeout each is extended, and the newest receipt kept.
func (p *poller) extendHeld(ctx context.Context) {
	half := p.in.Spec.VisibilityTimeout.Std() / 2
	var due []*held
	p.mu.Lock()
	for h := range p.held {
		if !h.settled && !h.Until.IsZero() && time.Until(h.Until) < half {
			due = append(due, h)
		}
	}
	p.mu.Unlock()
	inParallel(due, func(h *held) { p.extend(ctx, h) })
}

func (p *poller) extend(ctx context.Context, h *held) {
	owned, ok := h.from.(azurequeue.Owned)
	if !ok || !h.busy.TryLock() { // busy: it is being settled
		return
	}
	defer h.busy.Unlock()
	p.mu.Lock()
	settled, receipt := h.settled, h.Receipt
	p.mu.Unlock()
	if settled {
		return
	}
	asked := time.Now()
	visibility := p.in.Spec.VisibilityTimeout.Std()
	next, err := owned.Update(ctx, h.ID, receipt, h.Text, visibility)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch status, _ := azurequeue.Status(err); {
	case err == nil:
		h.Receipt, h.Until, h.unsure = next, asked.Add(visibility), false
	case status == taskclaim.NoAnswer:
		h.unsure = true
	case !taskclaim.Transient(status):
		h.Until = time.Time{} // no longer ours to extend; whoever has it finds the task started
		p.log.Info("message may reappear: its extension was refused", "queue", h.from.Name(), "messageId", h.ID, "error", err)
	}
}

// letGo ends the care for a message.
func (p *poller) letGo(h *held) {
	p.mu.Lock()
	h.settled, h.owed = true, false
	delete(p.held, h)
	p.mu.Unlock()
}

// deleteSoon deletes a message in the background. Until it is gone it is owed:
// a repeat of the activity goes on with it.
func (p *poller) deleteSoon(ctx context.Context, h *held) {
	p.mu.Lock()
	h.settled, h.owed = true, true
	p.mu.Unlock()
	p.removals.Add(1)
	go func() {
		defer p.removals.Done()
		if p.remove(ctx, h) {
			p.letGo(h)
		}
	}()
}

// loudAfter is the number of failed deletes after which it is told as an error.
const loudAfter = 5

// remove deletes a message, again and again while that may help, and reports
// whether it is done with. What can't be deleted comes back one day and is
// recognised by its task.
func (p *poller) remove(ctx context.Context, h *held) bool {
	h.busy.Lock()
	defer h.busy.Unlock()
	p.mu.Lock()
	receipt, until, unsure := h.Receipt, h.Until, h.unsure
	p.mu.Unlock()
	for attempt := 1; ; attempt++ {
		err := h.from.Remove(ctx, h.ID, receipt)
		if ctx.Err() != nil && err != nil {
			return false
		}
		status, code := azurequeue.Status(err)
		if err == nil {
			status = 204
		}
		switch taskclaim.DeleteFateOf(status, code) {
		case taskclaim.Deleted:
			p.mu.Lock()
			p.excused.forget(h.ID)
			p.copied.forget(h.ID)
			p.mu.Unlock()
			if err != nil {
				p.log.Debug("message was deleted already", "queue", h.from.Name(), "messageId", h.ID, "afterLostAnswer", unsure)
			}
			return true
		case taskclaim.Stale:
			p.log.Info("message may reappear: its receipt is old", "queue", h.from.Name(), "messageId", h.ID)
			return true
		case taskclaim.Refused:
			p.deleteFailed(h, err)
			return true
		case taskclaim.Forbidden:
			if p.signed != nil {
				if _, err := p.signed.List(ctx, time.Now()); err != nil {
					p.noteError(h.from.Name(), err)
				}
			}
		}
		if attempt == loudAfter {
			p.deleteFailed(h, err)
		}
		if attempt >= loudAfter && (until.IsZero() || time.Now().After(until)) {
			return true // visible again by now: the next delivery is recognised
		}
		p.sleep(ctx, retryDelay(attempt))
	}
}

func (p *poller) deleteFailed(h *held, err error) {
	p.log.Error("a message could not be deleted and will be delivered again", "queue", h.from.Name(), "messageId", h.ID, "error", err)
	p.count("sluice_claim_delete_failures", h.from.Name())
	p.noteError(h.from.Name(), err)
}

// keep gives a message back undecided: this delivery is excused, and it comes
// again after a delay that grows. With signed URLs it comes by itself.
func (p *poller) keep(ctx context.Context, h *held, why string) {
	p.mu.Lock()
	p.news.excused++
	remembered := p.excused.get(h.ID)
	p.mu.Unlock()
	p.count("sluice_claim_excused", h.from.Name())
	p.log.Warn("message kept: its claim was not decided", "queue", h.from.Name(), "taskId", h.message.TaskID, "runId", h.message.RunID, "error", why)
	owned, ok := h.from.(azurequeue.Owned)
	text, err := taskmessage.Excuse(h.Text, h.message.Excused+1)
	if !ok || err != nil {
		text = h.Text // full, or not ours to write: it is remembered here
		p.mu.Lock()
		p.excused.set(h.ID, remembered+1)
		p.mu.Unlock()
	}
	if ok {
		p.release(ctx, h, owned, text, retryDelay(int(min(h.message.Excused+remembered+1, 6))))
	}
	p.letGo(h)
}

// release makes a message visible again after a delay, with a new text. One that
// can't be released comes back when its visibility timeout is over.
func (p *poller) release(ctx context.Context, h *held, owned azurequeue.Owned, text string, delay time.Duration) {
	h.busy.Lock()
	defer h.busy.Unlock()
	p.mu.Lock()
	h.settled = true
	receipt := h.Receipt
	p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), beatTimeout)
	defer cancel()
	if _, err := owned.Update(ctx, h.ID, receipt, text, delay); err != nil {
		p.noteError(h.from.Name(), err)
	}
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

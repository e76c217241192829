package claiming

import (
	"context"
	"fmt"
	"time"

	"sluice/activities"
	"sluice/activities/azurequeue"
	"sluice/internal/errortype"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// poisoned is a message with the reason for which it is not run.
type poisoned struct {
	*held
	reason string
}

// poison moves a message aside: it is copied to the poison queue, then deleted.
// A message that can't be copied is not deleted, only left invisible for a
// while; one that was copied before is not copied again.
func (p *poller) poison(ctx context.Context, h *held, reason string) {
	p.mu.Lock()
	copied := p.copied.get(h.ID) > 0
	p.mu.Unlock()
	if !copied {
		if err := p.copyAside(ctx, h, reason); err != nil {
			p.log.Error("poisoned message could not be copied aside and stays on its queue", "queue", h.from.Name(), "messageId", h.ID, "error", err)
			p.noteError(h.from.Name(), fmt.Errorf("poison queue: %w", err))
			if owned, ok := h.from.(azurequeue.Owned); ok {
				p.release(ctx, h, owned, h.Text, retryDelay(5))
			}
			p.letGo(h)
			return
		}
		p.tellPoison(h, reason)
	}
	p.deleteSoon(ctx, h)
}

func (p *poller) tellPoison(h *held, reason string) {
	p.mu.Lock()
	p.copied.set(h.ID, 1)
	p.news.poisoned++
	p.mu.Unlock()
	p.queueNews(h.from.Name(), fmt.Sprintf("message %s is poison: %s", h.ID, reason))
	p.count("sluice_claim_poisoned", h.from.Name())
	p.log.Warn("message is poison", "queue", h.from.Name(), "messageId", h.ID, "dequeueCount", h.DequeueCount, "reason", reason)
}

// copyAside writes the poison record. Without credentials of our own (signed
// URLs only) the record is the log line, the status, the metric, and a report to
// the task service.
func (p *poller) copyAside(ctx context.Context, h *held, reason string) error {
	if p.Claimer.Queues == nil {
		if p.in.Spec.Claim.Used() && h.message.TaskID != "" {
			p.report(ctx, &candidate{held: h, runID: h.message.RunID}, wire.ReasonMalformedPayload)
		}
		return nil
	}
	text, err := taskmessage.Record{
		MessageID: h.ID, Queue: h.from.Name(), Reason: reason, DequeueCount: h.DequeueCount,
		Excused: h.message.Excused, InsertedAt: h.InsertedAt.UTC(), PoisonedAt: time.Now().UTC(),
	}.Wrap(h.Text)
	if err != nil {
		return err
	}
	target := azurequeue.NewQueue(p.Claimer.Queues, PoisonQueue(p.in.Spec.PoisonQueue, h.from.Name()))
	_, err = target.Send(ctx, text, 0)
	if status, code := azurequeue.Status(err); status == 404 && code == "QueueNotFound" {
		if err = target.Create(ctx); err == nil {
			_, err = target.Send(ctx, text, 0)
		}
	}
	return err
}

// PoisonQueue is the queue to which the poison of a queue goes.
func PoisonQueue(configured, queue string) string {
	if configured != "" {
		return configured
	}
	return queue + taskmessage.PoisonSuffix
}

// queueView is a queue as the poller sees it.
type queueView struct {
	state    wire.QueueState
	failures int       // in a row
	until    time.Time // not polled before
}

// view finds or makes the view of a queue; p.mu is held.
func (p *poller) view(name string) *queueView {
	v := p.queues[name]
	if v == nil {
		v = &queueView{state: wire.QueueState{Name: name}}
		p.queues[name] = v
	}
	return v
}

func (p *poller) queueReady(name string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !time.Now().Before(p.view(name).until)
}

// queueFailed notes that a queue could not be polled: it rests for a time that
// grows to 30 s, and the others go on.
func (p *poller) queueFailed(name string, err error) {
	p.mu.Lock()
	v := p.view(name)
	v.failures++
	v.until = time.Now().Add(retryDelay(v.failures))
	if v.failures > 1 { // the first is mended by a repeat most often
		v.state.Trouble = activities.TypeOf(azurequeue.Failure(wire.ClaimPoll.Name, name, err))
	}
	p.mu.Unlock()
	p.noteError(name, err)
	p.tellTrouble()
}

// noteError counts an error and shows it. One that differs from the last is news.
func (p *poller) noteError(name string, err error) {
	text := activities.Redact(err.Error())
	p.mu.Lock()
	v := p.view(name)
	v.state.Errors++
	changed := v.state.LastError != text
	v.state.LastError = text
	p.mu.Unlock()
	p.count("sluice_claim_errors", name)
	if changed {
		p.tell()
		p.log.Warn("claiming goes on after an error", "queue", name, "error", text)
	}
}

// queueWorked ends a row of failures.
func (p *poller) queueWorked(name string) {
	p.mu.Lock()
	v := p.view(name)
	recovered := v.failures > 0
	recovered = recovered || v.state.Trouble != ""
	v.failures, v.until, v.state.Trouble = 0, time.Time{}, ""
	p.mu.Unlock()
	if recovered {
		p.tellTrouble()
		p.log.Info("queue works again", "queue", name)
	}
}

// tellTrouble has the workflow know of the first queue that does not work, or of what
// keeps tasks from being started.
func (p *poller) tellTrouble() {
	p.mu.Lock()
	trouble := p.inTrouble()
	p.mu.Unlock()
	p.trouble.Tell(trouble)
}

// inTrouble is what the claimer fails at; p.mu is held.
func (p *poller) inTrouble() errortype.Trouble {
	for _, q := range p.queueStates() {
		if q.Trouble != "" {
			return errortype.Trouble{Type: q.Trouble, Error: q.LastError}
		}
	}
	return p.stuck
}

// queueNews shows something about a queue that is no failure of it.
func (p *poller) queueNews(name, text string) {
	p.mu.Lock()
	p.view(name).state.LastError = activities.Redact(text)
	p.mu.Unlock()
	p.tell()
}

// tell makes the next report due as soon as the allowance pays for it.
func (p *poller) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.news.other = true
	p.stirred()
	if p.news.since.IsZero() {
		p.news.since = time.Now()
	}
}

// queueStates lists the queues in order of priority; p.mu is held.
func (p *poller) queueStates() []wire.QueueState {
	var states []wire.QueueState
	listed := map[string]bool{}
	add := func(name string) {
		if v := p.queues[name]; v != nil && !listed[name] {
			states = append(states, v.state)
			listed[name] = true
		}
	}
	for _, q := range p.in.Spec.Queues {
		add(q.Name)
	}
	if p.signed != nil {
		for _, name := range p.signed.Names() {
			add(name)
		}
		add(signedURLsName)
	}
	return states
}

// signedURLsName stands for the source of signed URLs in the list of queues.
const signedURLsName = "signed URLs"

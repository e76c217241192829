package claiming

import (
	"context"
	"errors"
	"time"

	"sluice/activities"
	"sluice/activities/azurequeue"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// azure is the inbox's edge: the queues of the storage account, or those of signed
// URLs.
type azure struct {
	*Claimer
	spec      wire.PollSpec
	taskQueue string
	signed    *azurequeue.SignedSource // nil: queues of the storage account
	// malformed tells the task service of a message that is poison, where there is one
	// and no queue to copy it to.
	malformed func(ctx context.Context, h *held)
}

func newAzure(c *Claimer, in wire.PollInput) *azure {
	a := &azure{Claimer: c, spec: in.Spec, taskQueue: in.TaskQueue}
	if in.Spec.SignedURLs != nil {
		a.signed = &azurequeue.SignedSource{Service: c.Service, Spec: *in.Spec.SignedURLs}
	}
	return a
}

// polled is a queue of Azure as the inbox sees it, ours one that we may write to too.
type (
	polled struct{ azurequeue.Source }
	ours   struct {
		polled
		queue azurequeue.Owned
	}
)

// Receive takes up to n messages.
func (q polled) Receive(ctx context.Context, n int) ([]delivery, error) {
	messages, err := q.Source.Receive(ctx, n)
	deliveries := make([]delivery, len(messages))
	for i, m := range messages {
		deliveries[i] = delivery(m)
	}
	return deliveries, err
}

// Update changes text and visibility of a message.
func (q ours) Update(ctx context.Context, id, receipt, text string, visibility time.Duration) (string, error) {
	return q.queue.Update(ctx, id, receipt, text, visibility)
}

func asSource(q azurequeue.Source) source {
	if queue, ok := q.(azurequeue.Owned); ok {
		return ours{polled{q}, queue}
	}
	return polled{q}
}

// sources returns the queues in order of priority.
func (a *azure) sources(ctx context.Context) ([]source, error) {
	var queues []source
	if a.signed != nil {
		listed, err := a.signed.List(ctx, time.Now())
		for _, q := range listed {
			queues = append(queues, asSource(q))
		}
		return queues, err
	}
	if a.Queues == nil {
		return nil, errors.New(azurequeue.NoCredentials(a.taskQueue))
	}
	for _, q := range a.spec.Queues {
		queues = append(queues, asSource(a.queue(q.Name)))
	}
	return queues, nil
}

func (a *azure) queue(name string) *azurequeue.Queue {
	q := azurequeue.NewQueue(a.Queues, name)
	q.Visibility = a.spec.VisibilityTimeout.Std()
	return q
}

func (a *azure) named(name string) (source, bool) {
	if a.signed != nil {
		return asSource(&azurequeue.SignedQueue{Source: a.signed, HTTP: a.Service.HTTP, Queue: name}), true
	}
	for _, q := range a.spec.Queues {
		if q.Name == name && a.Queues != nil {
			return asSource(a.queue(name)), true
		}
	}
	return nil, false
}

func (a *azure) names() (names []string) {
	for _, q := range a.spec.Queues {
		names = append(names, q.Name)
	}
	if a.signed != nil {
		names = append(append(names, a.signed.Names()...), signedURLsName)
	}
	return names
}

func (a *azure) status(err error) (status int, code string) { return azurequeue.Status(err) }

func (a *azure) errorType(queue string, err error) string {
	return activities.TypeOf(azurequeue.Failure(wire.ClaimPoll.Name, queue, err))
}

func (a *azure) conceal(text string) string { return activities.Redact(text) }

// refreshAccess fetches signed URLs anew; credentials of our own renew themselves.
func (a *azure) refreshAccess(ctx context.Context) error {
	if a.signed == nil {
		return nil
	}
	_, err := a.signed.List(ctx, time.Now())
	return err
}

// copyAside writes the poison record. Without credentials of our own (signed URLs
// only) the record is the log line, the status, the metric, and a report to the task
// service.
func (a *azure) copyAside(ctx context.Context, h *held, reason string) error {
	if a.Queues == nil {
		if a.spec.Claim.Used() && h.message.TaskID != "" {
			a.malformed(ctx, h)
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
	target := azurequeue.NewQueue(a.Queues, PoisonQueue(a.spec.PoisonQueue, h.from.Name()))
	_, err = target.Send(ctx, text, 0)
	if status, code := azurequeue.Status(err); status == 404 && code == "QueueNotFound" {
		if err = target.Create(ctx); err == nil {
			_, err = target.Send(ctx, text, 0)
		}
	}
	return err
}

// length is what a queue tells of its messages: those a peek sees, those hidden,
// Azure's estimate of all, and the age of the oldest seen. For status and metrics
// only: no decision rests on an estimate.
func (a *azure) length(ctx context.Context, name string) (visible, invisible, approximate int64, age float64, err error) {
	m, err := a.queue(name).Measure(ctx)
	if err != nil {
		return 0, 0, 0, 0, err
	}
	invisible = max(0, m.Approximate-m.Visible)
	if m.Visible == azurequeue.MaxPeek {
		invisible = 0 // more may be visible than a peek shows: the rest is not known to be invisible
	}
	if !m.Oldest.IsZero() {
		age = max(0, time.Since(m.Oldest).Seconds())
	}
	return m.Visible, invisible, m.Approximate, age, nil
}

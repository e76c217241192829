package azurequeue

import (
	"context"
	"time"

	"sluice/internal/wire"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// Message is a message as a poll gave it to us.
type Message struct {
	ID           string
	Receipt      string
	Text         string
	DequeueCount int64
	InsertedAt   time.Time
	Until        time.Time // invisible to others, by this machine's clock; zero: not known
}

// Measure is what a queue tells of its length. The approximate count includes
// invisible messages and may be wrong for minutes; a peek sees 32 at most.
type Measure struct {
	Approximate int64
	Visible     int64 // at most MaxPeek
	Oldest      time.Time
}

const MaxPeek = 32

// Source is a queue that tasks are claimed from: with credentials, or by
// signed URLs.
type Source interface {
	Name() string
	Receive(ctx context.Context, n int) ([]Message, error)
	Remove(ctx context.Context, id, receipt string) error
}

// Owned is a queue whose messages we may also change: extend, release,
// rewrite.
type Owned interface {
	Source
	Update(ctx context.Context, id, receipt, text string, visibility time.Duration) (newReceipt string, err error)
	Measure(ctx context.Context) (Measure, error)
}

// Queue is a queue reached with credentials of our own.
type Queue struct {
	queue      string
	client     *azqueue.QueueClient
	Visibility time.Duration
}

// NewQueue is the queue of this name; nothing is called yet.
func NewQueue(service *azqueue.ServiceClient, queue string) *Queue {
	return &Queue{queue: queue, client: service.NewQueueClient(queue), Visibility: 30 * time.Second}
}

// Names of the calls that both kinds of queues have, for errors.
const (
	opReceive = "AzureQueue.Receive"
	opDelete  = "AzureQueue.Delete"
)

// queueCallTimeout bounds one call of a queue.
const queueCallTimeout = 20 * time.Second

// once makes a call be tried once: the claimer owns the repeats, since it knows
// which are worth it and when.
func once(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx = policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
	return context.WithTimeout(ctx, queueCallTimeout)
}

// Name is the queue's.
func (q *Queue) Name() string { return q.queue }

// Send adds a message that becomes visible after the delay.
func (q *Queue) Send(ctx context.Context, text string, delay time.Duration) (id string, err error) {
	ctx, cancel := once(ctx)
	defer cancel()
	sent, err := q.client.EnqueueMessage(ctx, text, &azqueue.EnqueueMessageOptions{
		VisibilityTimeout: to.Ptr(seconds(delay)),
		TimeToLive:        to.Ptr(int32(-1)), // a task that nobody got round to must not vanish after Azure's seven days
	})
	if err != nil {
		return "", asFailure(wire.AzureQueueSend, err)
	}
	for _, m := range sent.Messages {
		return deref(m.MessageID), nil
	}
	return "", nil
}

// Create makes the queue.
func (q *Queue) Create(ctx context.Context) error {
	ctx, cancel := once(ctx)
	defer cancel()
	_, err := q.client.Create(ctx, nil)
	return asFailure("AzureQueue.Create", err)
}

// Receive takes up to n messages.
func (q *Queue) Receive(ctx context.Context, n int) ([]Message, error) {
	ctx, cancel := once(ctx)
	defer cancel()
	asked := time.Now()
	got, err := q.client.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{
		NumberOfMessages:  to.Ptr(int32(n)),
		VisibilityTimeout: to.Ptr(seconds(q.Visibility)),
	})
	if err != nil {
		return nil, asFailure(opReceive, err)
	}
	deliveries := make([]Message, 0, len(got.Messages))
	for _, m := range got.Messages {
		deliveries = append(deliveries, Message{
			ID: deref(m.MessageID), Receipt: deref(m.PopReceipt), Text: deref(m.MessageText),
			DequeueCount: deref(m.DequeueCount), InsertedAt: deref(m.InsertionTime),
			Until: asked.Add(q.Visibility),
		})
	}
	return deliveries, nil
}

// Remove deletes a message by the receipt in force.
func (q *Queue) Remove(ctx context.Context, id, receipt string) error {
	ctx, cancel := once(ctx)
	defer cancel()
	_, err := q.client.DeleteMessage(ctx, id, receipt, nil)
	return asFailure(opDelete, err)
}

// Update sets a message's text and when it becomes visible again, and returns the new receipt.
func (q *Queue) Update(ctx context.Context, id, receipt, text string, visibility time.Duration) (string, error) {
	ctx, cancel := once(ctx)
	defer cancel()
	updated, err := q.client.UpdateMessage(ctx, id, receipt, text,
		&azqueue.UpdateMessageOptions{VisibilityTimeout: to.Ptr(seconds(visibility))})
	if err != nil {
		return "", asFailure("AzureQueue.Update", err)
	}
	return deref(updated.PopReceipt), nil
}

// Measure tells how much is in the queue.
func (q *Queue) Measure(ctx context.Context) (m Measure, err error) {
	ctx, cancel := once(ctx)
	defer cancel()
	properties, err := q.client.GetProperties(ctx, nil)
	if err != nil {
		return m, asFailure("AzureQueue.GetProperties", err)
	}
	m.Approximate = deref(properties.ApproximateMessagesCount)
	peeked, err := q.client.PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr(int32(MaxPeek))})
	if err != nil {
		return m, asFailure("AzureQueue.Peek", err)
	}
	m.Visible = int64(len(peeked.Messages))
	for _, message := range peeked.Messages {
		if at := deref(message.InsertionTime); m.Oldest.IsZero() || at.Before(m.Oldest) {
			m.Oldest = at
		}
	}
	return m, nil
}

// seconds rounds up, since a visibility of 0 would give the message away.
func seconds(d time.Duration) int32 {
	return int32((min(d, maxVisibility) + time.Second - 1) / time.Second)
}

func deref[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

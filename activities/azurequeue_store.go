package activities

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
)

// delivery is a message as a poll gave it to us.
type delivery struct {
	id           string
	receipt      string
	text         string
	dequeueCount int64
	insertedAt   time.Time
	until        time.Time // invisible to others, by this machine's clock; zero: not known
}

// measure is what a queue tells of its length. The approximate count includes
// invisible messages and may be wrong for minutes; a peek sees 32 at most.
type measure struct {
	approximate int64
	visible     int64 // at most peekLimit
	oldest      time.Time
}

const peekLimit = 32

// sourceQueue is a queue that tasks are claimed from: with credentials, or by
// signed URLs.
type sourceQueue interface {
	name() string
	receive(ctx context.Context, n int) ([]delivery, error)
	remove(ctx context.Context, id, receipt string) error
}

// ownedQueue is a queue whose messages we may also change: extend, release,
// rewrite.
type ownedQueue interface {
	sourceQueue
	update(ctx context.Context, id, receipt, text string, visibility time.Duration) (newReceipt string, err error)
	measure(ctx context.Context) (measure, error)
}

// storeQueue is a queue reached with credentials of our own.
type storeQueue struct {
	queue      string
	client     *azqueue.QueueClient
	visibility time.Duration
}

func newStoreQueue(service *azqueue.ServiceClient, queue string) *storeQueue {
	return &storeQueue{queue: queue, client: service.NewQueueClient(queue), visibility: 30 * time.Second}
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

func (q *storeQueue) name() string { return q.queue }

func (q *storeQueue) send(ctx context.Context, text string, delay time.Duration) (id string, err error) {
	ctx, cancel := once(ctx)
	defer cancel()
	sent, err := q.client.EnqueueMessage(ctx, text, &azqueue.EnqueueMessageOptions{
		VisibilityTimeout: to.Ptr(seconds(delay)),
		TimeToLive:        to.Ptr(int32(-1)), // a task that nobody got round to must not vanish after Azure's seven days
	})
	if err != nil {
		return "", callError(AzureQueueSend, err)
	}
	for _, m := range sent.Messages {
		return deref(m.MessageID), nil
	}
	return "", nil
}

func (q *storeQueue) create(ctx context.Context) error {
	ctx, cancel := once(ctx)
	defer cancel()
	_, err := q.client.Create(ctx, nil)
	return callError("AzureQueue.Create", err)
}

func (q *storeQueue) receive(ctx context.Context, n int) ([]delivery, error) {
	ctx, cancel := once(ctx)
	defer cancel()
	asked := time.Now()
	got, err := q.client.DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{
		NumberOfMessages:  to.Ptr(int32(n)),
		VisibilityTimeout: to.Ptr(seconds(q.visibility)),
	})
	if err != nil {
		return nil, callError(opReceive, err)
	}
	deliveries := make([]delivery, 0, len(got.Messages))
	for _, m := range got.Messages {
		deliveries = append(deliveries, delivery{
			id: deref(m.MessageID), receipt: deref(m.PopReceipt), text: deref(m.MessageText),
			dequeueCount: deref(m.DequeueCount), insertedAt: deref(m.InsertionTime),
			until: asked.Add(q.visibility),
		})
	}
	return deliveries, nil
}

func (q *storeQueue) remove(ctx context.Context, id, receipt string) error {
	ctx, cancel := once(ctx)
	defer cancel()
	_, err := q.client.DeleteMessage(ctx, id, receipt, nil)
	return callError(opDelete, err)
}

func (q *storeQueue) update(ctx context.Context, id, receipt, text string, visibility time.Duration) (string, error) {
	ctx, cancel := once(ctx)
	defer cancel()
	updated, err := q.client.UpdateMessage(ctx, id, receipt, text,
		&azqueue.UpdateMessageOptions{VisibilityTimeout: to.Ptr(seconds(visibility))})
	if err != nil {
		return "", callError("AzureQueue.Update", err)
	}
	return deref(updated.PopReceipt), nil
}

func (q *storeQueue) measure(ctx context.Context) (m measure, err error) {
	ctx, cancel := once(ctx)
	defer cancel()
	properties, err := q.client.GetProperties(ctx, nil)
	if err != nil {
		return m, callError("AzureQueue.GetProperties", err)
	}
	m.approximate = int64(deref(properties.ApproximateMessagesCount))
	peeked, err := q.client.PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: to.Ptr(int32(peekLimit))})
	if err != nil {
		return m, callError("AzureQueue.Peek", err)
	}
	m.visible = int64(len(peeked.Messages))
	for _, message := range peeked.Messages {
		if at := deref(message.InsertionTime); m.oldest.IsZero() || at.Before(m.oldest) {
			m.oldest = at
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

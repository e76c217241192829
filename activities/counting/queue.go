package counting

import (
	"context"
	"fmt"
	"strconv"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"sluice/activities/awscall"
	"sluice/internal/wire"
)

const (
	receiveBatch = 10  // SQS's most for a receive and a delete
	receivers    = 8   // receives and deletes at once while there is much
	mostInLoad   = 500 // messages that are counted together
	idleWait     = 10  // seconds that a receive waits for a message
	drainWait    = 1
)

// eventQueue is the queue that is consumed.
type eventQueue struct {
	api     QueueConsumer
	url     string
	reached bool // a receive has succeeded once
}

func (q *eventQueue) name() string { return wire.QueueName(q.url) }

// queueMessage is a received message.
type queueMessage struct{ id, handle, body string }

// load is what one gathering brought.
type load struct {
	messages []queueMessage
	err      error // ends the counting
	failure  error // is told and repeated
}

// gather waits for messages while waiting lasts, and where there are many takes up
// to mostInLoad.
func (q *eventQueue) gather(ctx, waiting context.Context, drain bool) load {
	wait := int32(idleWait)
	if drain {
		wait = drainWait
	}
	first, err := q.receive(waiting, wait)
	q.reached = q.reached || err == nil
	l := load{messages: first, err: err}
	more := len(first) == receiveBatch
	for more && len(l.messages) <= mostInLoad-receivers*receiveBatch {
		more = q.receiveMany(ctx, &l)
	}
	return l
}

// receiveMany receives several times at once and reports whether all of them came
// back full. An error leaves what was received to be counted.
func (q *eventQueue) receiveMany(ctx context.Context, l *load) bool {
	var mu sync.Mutex
	var wg sync.WaitGroup
	full := true
	for range receivers {
		wg.Go(func() {
			messages, err := q.receive(ctx, 0)
			mu.Lock()
			defer mu.Unlock()
			l.messages = append(l.messages, messages...)
			full = full && err == nil && len(messages) == receiveBatch
		})
	}
	wg.Wait()
	return full
}

func (q *eventQueue) receive(ctx context.Context, wait int32) ([]queueMessage, error) {
	answer, err := q.api.ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{
		QueueUrl: &q.url, MaxNumberOfMessages: receiveBatch, WaitTimeSeconds: wait,
	}, awscall.InRegionOf(q.url))
	if err != nil {
		return nil, awscall.Failure("SQS.ReceiveMessage", q.name(), err)
	}
	messages := make([]queueMessage, len(answer.Messages))
	for i, m := range answer.Messages {
		messages[i] = queueMessage{aws.ToString(m.MessageId), aws.ToString(m.ReceiptHandle), aws.ToString(m.Body)}
	}
	return messages, nil
}

// delete removes messages, several requests at once. What could not be removed
// comes again.
func (q *eventQueue) delete(ctx context.Context, handles []string) error {
	slots := make(chan struct{}, receivers)
	failures := make(chan error, len(handles)/receiveBatch+1)
	var wg sync.WaitGroup
	for from := 0; from < len(handles); from += receiveBatch {
		batch := handles[from:min(from+receiveBatch, len(handles))]
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := q.deleteBatch(ctx, batch); err != nil {
				failures <- err
			}
		})
	}
	wg.Wait()
	select {
	case err := <-failures:
		return err
	default:
		return nil
	}
}

func (q *eventQueue) deleteBatch(ctx context.Context, handles []string) error {
	entries := make([]types.DeleteMessageBatchRequestEntry, len(handles))
	for i := range handles {
		entries[i] = types.DeleteMessageBatchRequestEntry{Id: aws.String(strconv.FormatInt(int64(i), 10)), ReceiptHandle: &handles[i]}
	}
	answer, err := q.api.DeleteMessageBatch(ctx, &awssqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: entries}, awscall.InRegionOf(q.url))
	if err != nil {
		return awscall.Failure("SQS.DeleteMessageBatch", q.name(), err)
	}
	if len(answer.Failed) > 0 {
		return fmt.Errorf("SQS.DeleteMessageBatch %s: %d of %d entries: %s", q.name(), len(answer.Failed), len(handles), aws.ToString(answer.Failed[0].Code))
	}
	return nil
}

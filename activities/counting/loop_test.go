package counting

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"sluice/internal/wire"
)

// fullQueue gives out so many messages, each about an object of its own.
type fullQueue struct {
	mu      sync.Mutex
	given   int
	most    int
	deleted int
	wanted  int // given says when so many are out
	enough  chan struct{}
}

func (q *fullQueue) ReceiveMessage(ctx context.Context, in *awssqs.ReceiveMessageInput, _ ...func(*awssqs.Options)) (*awssqs.ReceiveMessageOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	out := &awssqs.ReceiveMessageOutput{}
	for range min(int(in.MaxNumberOfMessages), q.most-q.given) {
		q.given++
		out.Messages = append(out.Messages, types.Message{
			MessageId: aws.String(fmt.Sprint(q.given)), ReceiptHandle: aws.String(fmt.Sprint(q.given)),
			Body: aws.String(fmt.Sprintf(`{"Records":[{"eventVersion":"2.1","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},`+
				`"object":{"key":"k%d","sequencer":"01"}}}]}`, q.given)),
		})
	}
	if q.given == q.wanted {
		q.wanted = 0
		close(q.enough)
	}
	return out, nil
}

func (q *fullQueue) DeleteMessageBatch(_ context.Context, in *awssqs.DeleteMessageBatchInput, _ ...func(*awssqs.Options)) (*awssqs.DeleteMessageBatchOutput, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.deleted += len(in.Entries)
	return &awssqs.DeleteMessageBatchOutput{}, nil
}

// Whether the run ends with a report or is cancelled: what it has received by then
// is counted and deleted, and nothing is left to wait for its visibility timeout.
func TestARunCountsWhatItHasReceivedBeforeItEnds(t *testing.T) {
	// A load is a receive and rounds of eight until 420 are passed: 490 messages.
	const load = 490
	for name, cancels := range map[string]bool{"report": false, "cancel": true} {
		t.Run(name, func(t *testing.T) {
			tb := newTableOf()
			q := &fullQueue{most: 3 * load, wanted: 2 * load, enough: make(chan struct{})}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			tb.disturb = func(n int) string {
				if n == 1 {
					<-q.enough // the second load is there before the first is written
					if cancels {
						cancel()
					}
				}
				return ""
			}
			c := &counting{now: func() time.Time { return time.Now().UTC() }, queue: &eventQueue{api: q, url: "http://q/events"}, ledger: newLedger(tb, "a"),
				metrics: client.MetricsNopHandler, logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
			if cancels {
				// Nothing is due, so that only the cancellation ends it.
				c.figures.Reports.Told(countBusy, time.Now())
			}
			c.publish()
			report, err := c.run(ctx)
			if cancels {
				require.ErrorIs(t, err, context.Canceled)
				report.Figures = c.snapshot()
			} else {
				require.NoError(t, err)
			}
			require.GreaterOrEqual(t, q.given, 2*load)
			require.EqualValues(t, q.given, report.Figures.Messages)
			require.EqualValues(t, q.given, tb.count("b"))
			require.Equal(t, q.given, q.deleted)
		})
	}
}

// A monitor's heartbeats are rare once no message has come for ten minutes, and
// frequent again with the first one; reports tell it, as many as there are to spend.
func TestMonitorCalmsDownAndWakes(t *testing.T) {
	now := time.Now().UTC()
	c := &counting{began: now.Add(-time.Minute)}
	report := func(after time.Duration) (wire.CountReport, bool) { return c.due(load{}, now.Add(after)) }
	_, told := report(0)
	require.True(t, told)
	require.Equal(t, 10*time.Second, c.figures.Spacing.Std(), "it has just begun")
	_, told = report(8 * time.Minute)
	require.False(t, told)
	r, told := report(9 * time.Minute)
	require.True(t, told)
	require.Equal(t, time.Minute, r.Figures.Spacing.Std())

	c = &counting{began: now.Add(10 * time.Minute), figures: r.Figures}
	_, told = report(11 * time.Minute)
	require.False(t, told, "the next attempt is calm from the start")
	c.figures.LastMessageAt = now.Add(12 * time.Minute)
	r, told = report(12 * time.Minute)
	require.True(t, told)
	require.Equal(t, 10*time.Second, r.Figures.Spacing.Std())
}

// Of a message that can't be read the figures have the reason, not only a number.
func TestUnreadableMessagesAreToldWithTheirReason(t *testing.T) {
	tb := newTableOf()
	c := &counting{now: func() time.Time { return time.Now().UTC() }, queue: &eventQueue{api: &fullQueue{}, url: "http://q/events"}, ledger: newLedger(tb, "a"),
		metrics: client.MetricsNopHandler, logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
	c.publish()
	var deleting sync.WaitGroup
	for body, reason := range map[string]string{
		`{"Type":"SubscriptionConfirmation","Message":"You have chosen to subscribe"}`: `SNS message of Type "SubscriptionConfirmation"`,
		`{"s3Bucket":"trail","s3ObjectKey":["AWSLogs/1.json.gz"]}`:                     `["s3Bucket" "s3ObjectKey"]`,
		`no JSON`: "not a JSON message",
	} {
		before := c.figures.Unreadable
		c.take(t.Context(), load{messages: []queueMessage{{id: "m-1", handle: "h", body: body}}}, &deleting)
		require.Equal(t, before+1, c.figures.Unreadable)
		require.Contains(t, c.figures.LastUnreadable, "message m-1: ")
		require.Contains(t, c.figures.LastUnreadable, reason)
	}
	told := c.figures.LastUnreadable
	c.take(t.Context(), load{messages: []queueMessage{{id: "m-2", handle: "h", body: `{"Event":"s3:TestEvent"}`}}}, &deleting)
	require.Equal(t, told, c.figures.LastUnreadable, "the last reason stays")
	deleting.Wait()
}

package activities

import (
	"context"
	"errors"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"sluice/internal/quiescence"
	"sluice/internal/s3event"
)

// CountEvents is the activity behind the CountObjects workflow.
const CountEvents = "S3Events.Count"

// QueueConsumer is what counting needs of SQS.
type QueueConsumer interface {
	ReceiveMessage(context.Context, *sqs.ReceiveMessageInput, ...func(*sqs.Options)) (*sqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *sqs.DeleteMessageBatchInput, ...func(*sqs.Options)) (*sqs.DeleteMessageBatchOutput, error)
}

// S3Events counts the objects that S3 event notifications announce.
type S3Events struct {
	DynamoDB DynamoDBCaller
	SQS      QueueConsumer
	Temporal client.Client // records heartbeats
}

func (s *S3Events) activities() []named { return []named{{CountEvents, s.Count}} }

// CountInput says what to count, and goes on from the figures of the run before.
type CountInput struct {
	QueueURL    string       `json:"queueUrl"`
	Table       string       `json:"table"`
	PrefixDepth int          `json:"prefixDepth"` // 0: a counter a bucket
	Drain       bool         `json:"drain"`       // return when a poll finds nothing
	Figures     CountFigures `json:"figures"`
}

// CountFigures is what a monitor has done since it was started.
type CountFigures struct {
	Messages   int64  `json:"messages"`   // received and dealt with
	Events     int64  `json:"events"`     // in them, about objects that came or went
	News       int64  `json:"news"`       // objects of which they told something new
	Passed     int64  `json:"passed"`     // records about other things, test events
	Unreadable int64  `json:"unreadable"` // messages left to the redrive policy, each delivery
	RawKeys    int64  `json:"rawKeys"`    // objects whose key could not be decoded
	Batches    int64  `json:"batches"`    // written to the table
	Errors     int64  `json:"errors"`     // failed calls, repeated since
	LastError  string `json:"lastError,omitempty"`
	// LastMessageAt is when the last message was dealt with.
	LastMessageAt time.Time `json:"lastMessageAt,omitzero"`
	Opened        bool      `json:"opened,omitempty"` // queue and table were reached once
	// Arrivals is when the news came, for people.
	Arrivals quiescence.Arrivals `json:"arrivals,omitzero"`
	Reports  quiescence.Reports  `json:"reports"`
}

// CountReport is what Count returns: figures in between, or Drained.
type CountReport struct {
	Figures CountFigures `json:"figures"`
	Drained bool         `json:"drained"`
	At      time.Time    `json:"at"`
}

// Count consumes the queue and keeps the counters until it is cancelled, whose
// CanceledError has the CountFigures as its detail. The batch under way is finished
// first, and heartbeats go on until it is.
// A repeat finishes what an attempt before it left half done and counts nothing
// twice; two that run at once get in each other's way but count right. A queue or
// table that isn't there, or refuses us, fails the activity only at its first use;
// later it is waited for.
func (s *S3Events) Count(ctx context.Context, in CountInput) (CountReport, error) {
	figures := in.Figures
	if _, err := Checkpoint(ctx, &figures); err != nil {
		return CountReport{}, Invalid(CountEvents, err)
	}
	c := &counting{
		queue:   &eventQueue{api: s.SQS, url: in.QueueURL, reached: figures.Messages > 0},
		drain:   in.Drain,
		figures: figures,
		metrics: activity.GetMetricsHandler(ctx).WithTags(map[string]string{"queue": queueName(in.QueueURL)}),
		logger:  activity.GetLogger(ctx),
	}
	c.ledger = &ledger{
		db: s.DynamoDB, table: in.Table, owner: ownerOf(ctx),
		counting: s3event.Counting{PrefixDepth: in.PrefixDepth}, failed: c.failed,
	}
	c.publish()
	alive, stop := keepWaiting(ctx, s.Temporal, WorkingHeartbeat, make(chan struct{}, 1), func() any { return c.snapshot() })
	defer stop()
	report, err := c.run(alive)
	if interrupted := Interrupted(alive, CountEvents, c.snapshot()); interrupted != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return CountReport{}, interrupted
	}
	return report, err
}

// ownerOf tells the batches of this attempt from those of any other.
func ownerOf(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.RunID + "/" + info.ActivityID + "/" + strconv.FormatInt(int64(info.Attempt), 10)
}

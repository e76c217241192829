package counting

import (
	"context"
	"errors"
	"strconv"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/activities/dynamodb"
	"sluice/internal/s3event"
	"sluice/internal/wire"
)

// QueueConsumer is what counting needs of SQS.
type QueueConsumer interface {
	ReceiveMessage(context.Context, *awssqs.ReceiveMessageInput, ...func(*awssqs.Options)) (*awssqs.ReceiveMessageOutput, error)
	DeleteMessageBatch(context.Context, *awssqs.DeleteMessageBatchInput, ...func(*awssqs.Options)) (*awssqs.DeleteMessageBatchOutput, error)
}

// Activities counts the objects that S3 event notifications announce.
type Activities struct {
	DynamoDB dynamodb.Caller
	SQS      QueueConsumer
	Temporal client.Client // records heartbeats
	Calm     activities.Calm
}

// All lists the activities under their names.
func (s *Activities) All() []activities.Named {
	return []activities.Named{activities.On(wire.CountEvents, s.Count)}
}

// Count consumes the queue and keeps the counters until it is cancelled, whose
// CanceledError has the wire.CountFigures as its detail. The batch under way is finished
// first, and heartbeats go on until it is.
// A repeat finishes what an attempt before it left half done and counts nothing
// twice; two that run at once get in each other's way but count right. A queue or
// table that isn't there, or refuses us, fails the activity only at its first use;
// later it is waited for.
func (s *Activities) Count(ctx context.Context, in wire.CountInput) (wire.CountReport, error) {
	figures := in.Figures
	if _, err := activities.Checkpoint(ctx, &figures); err != nil {
		return wire.CountReport{}, activities.Invalid(wire.CountEvents.Name, err)
	}
	now := activities.ServerClock(ctx)
	c := &counting{
		now:     now,
		queue:   &eventQueue{api: s.SQS, url: in.QueueURL, reached: figures.Messages > 0},
		drain:   in.Drain,
		calm:    s.Calm,
		began:   now(),
		figures: figures,
		trouble: activities.TellTrouble(ctx, figures.Trouble),
		metrics: activity.GetMetricsHandler(ctx).WithTags(map[string]string{"queue": wire.QueueName(in.QueueURL)}),
		logger:  activity.GetLogger(ctx),
	}
	c.ledger = &ledger{
		db: s.DynamoDB, table: in.Table, owner: ownerOf(ctx),
		counting: s3event.Counting{PrefixDepth: in.PrefixDepth}, failed: c.failed,
	}
	c.publish()
	alive, stop := activities.KeepWaiting(ctx, s.Temporal, max(activities.WaitingHeartbeat, in.Figures.Spacing.Std()), make(chan struct{}, 1), func() any { return c.snapshot() })
	defer stop()
	report, err := c.run(alive)
	if interrupted := activities.Interrupted(alive, wire.CountEvents.Name, c.snapshot()); interrupted != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return wire.CountReport{}, interrupted
	}
	return report, err
}

// ownerOf tells the batches of this attempt from those of any other.
func ownerOf(ctx context.Context) string {
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.RunID + "/" + info.ActivityID + "/" + strconv.FormatInt(int64(info.Attempt), 10)
}

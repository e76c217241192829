package quiescence

import (
	"context"
	"encoding/json"

	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/wire"
)

// ItemReader reads an item consistently, nil where there is none. key is as DynamoDB
// has it, and so is the item (DynamoDB.Call).
type ItemReader interface {
	Item(ctx context.Context, table string, key json.RawMessage) (json.RawMessage, error)
}

// ObjectLister is the one method that the s3 source needs of S3.
type ObjectLister interface {
	ListObjectsV2(context.Context, *awss3.ListObjectsV2Input, ...func(*awss3.Options)) (*awss3.ListObjectsV2Output, error)
}

// QueueMeter is the one method that the sqs source needs of SQS.
type QueueMeter interface {
	GetQueueAttributes(context.Context, *awssqs.GetQueueAttributesInput, ...func(*awssqs.Options)) (*awssqs.GetQueueAttributesOutput, error)
}

// Activities polls a target until it falls quiet.
type Activities struct {
	Items    ItemReader // within the worker's share of the table's capacity
	S3       ObjectLister
	SQS      QueueMeter
	Temporal client.Client // runs the polls of the activity source, records heartbeats
	Calm     activities.Calm
}

// All lists the activities under their names.
func (q *Activities) All() []activities.Named {
	return []activities.Named{activities.On(wire.WatchQuiescence, q.Watch)}
}

// Watch polls the source, waiting between polls, until there is something to
// report: the generation ended, or its phase changed (quiescence.Reports). It
// costs no history while it waits, and a heartbeat a minute once nothing has happened
// for ten (State.Spacing, whose changes are reported too). Its heartbeats hold its quiescence.State, so a
// later attempt goes on where the last one was; a cancelled one hands its state
// back as the detail of the CanceledError. A failed poll fails nothing. A repeat
// reads again and changes nothing.
func (q *Activities) Watch(ctx context.Context, in wire.WatchInput) (wire.WatchReport, error) {
	now := activities.ServerClock(ctx)
	w := &watcher{
		now: now, align: activities.AlignWait, rule: in.Rule, state: in.State, lateUntil: in.LateUntil,
		calm: q.Calm, began: now(), spacing: in.State.Spacing.Std(),
	}
	if _, err := activities.Checkpoint(ctx, &w.state); err != nil {
		return wire.WatchReport{}, activities.Invalid(wire.WatchQuiescence.Name, err)
	}
	source, err := q.source(ctx, in.Source, w.state)
	if err != nil {
		return wire.WatchReport{}, err
	}
	w.source = source
	w.trouble = activities.TellTrouble(ctx, w.state.Trouble())
	news := make(chan struct{}, 1)
	w.beat = func() { activities.Notify(news) }
	w.metrics = activity.GetMetricsHandler(ctx)
	w.publish()
	alive, stop := activities.KeepWaiting(ctx, q.Temporal, max(activities.BeatEvery(in.Rule), w.spacing), news, func() any { return w.snapshot() })
	defer stop()
	report, err := w.run(alive)
	if interrupted := activities.Interrupted(alive, wire.WatchQuiescence.Name, w.snapshot()); err != nil && interrupted != nil {
		return wire.WatchReport{}, interrupted
	}
	return report, err
}

package activities

import (
	"context"
	"encoding/json"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"

	"sluice/internal/quiescence"
)

// WatchQuiescence is the activity behind the Quiescence workflow.
const WatchQuiescence = "Quiescence.Watch"

// DynamoDBCaller makes a call within the worker's share of the table's capacity;
// document and answer are the API's own JSON (DynamoDB.Call).
type DynamoDBCaller interface {
	Call(ctx context.Context, operation string, document json.RawMessage, priority int) (json.RawMessage, error)
}

// CallerFunc is a function that answers the calls, in tests.
type CallerFunc func(ctx context.Context, operation string, document json.RawMessage) (json.RawMessage, error)

// Call calls the function.
func (f CallerFunc) Call(ctx context.Context, operation string, document json.RawMessage, _ int) (json.RawMessage, error) {
	return f(ctx, operation, document)
}

// defaultPriority leaves the place in the queue for capacity to DynamoDB.Call.
const defaultPriority = 0

// ItemReader reads an item consistently, nil where there is none. key is as DynamoDB
// has it, and so is the item (DynamoDB.Call).
type ItemReader interface {
	Item(ctx context.Context, table string, key json.RawMessage) (json.RawMessage, error)
}

// ObjectLister is the one method that the s3 source needs of S3.
type ObjectLister interface {
	ListObjectsV2(context.Context, *s3.ListObjectsV2Input, ...func(*s3.Options)) (*s3.ListObjectsV2Output, error)
}

// QueueMeter is the one method that the sqs source needs of SQS.
type QueueMeter interface {
	GetQueueAttributes(context.Context, *sqs.GetQueueAttributesInput, ...func(*sqs.Options)) (*sqs.GetQueueAttributesOutput, error)
}

// Quiescence polls a target until it falls quiet.
type Quiescence struct {
	Items    ItemReader // within the worker's share of the table's capacity
	S3       ObjectLister
	SQS      QueueMeter
	Temporal client.Client // runs the polls of the activity source
}

func (q *Quiescence) activities() []named { return []named{{WatchQuiescence, q.Watch}} }

// WatchInput is what Watch goes on from.
type WatchInput struct {
	Source Source           `json:"source"`
	Rule   quiescence.Rule  `json:"rule"`
	State  quiescence.State `json:"state"`
	// LateUntil is when the watch ends that follows the first quiet; zero before
	// that.
	LateUntil time.Time `json:"lateUntil,omitzero"`
}

// WatchReport is what Watch found out.
type WatchReport struct {
	State quiescence.State `json:"state"`
	// Reason is why the generation ended (quiescence.Reason…), "" for a report in
	// between: the phase changed.
	Reason string `json:"reason,omitempty"`
	// Over says that the watch after the first quiet ended without news.
	Over bool      `json:"over,omitempty"`
	At   time.Time `json:"at"`
}

// WatchBeat is what Watch heartbeats: its state, and for people what follows from
// it.
type WatchBeat struct {
	quiescence.State
	QuietAt time.Time `json:"quietAt,omitzero"`
}

// Watch polls the source, waiting between polls, until there is something to
// report: the generation ended, or its phase changed (quiescence.Reports). It
// costs no history while it waits. Its heartbeats hold its quiescence.State, so a
// later attempt goes on where the last one was; a cancelled one hands its state
// back as the detail of the CanceledError. A failed poll fails nothing. A repeat
// reads again and changes nothing.
func (q *Quiescence) Watch(ctx context.Context, in WatchInput) (WatchReport, error) {
	w := &watcher{align: onPulse, rule: in.Rule, state: in.State, lateUntil: in.LateUntil}
	if _, err := Checkpoint(ctx, &w.state); err != nil {
		return WatchReport{}, Invalid(WatchQuiescence, err)
	}
	source, err := q.source(ctx, in.Source, w.state)
	if err != nil {
		return WatchReport{}, err
	}
	w.source = source
	news := make(chan struct{}, 1)
	w.beat = func() { nudge(news) }
	w.metrics = activity.GetMetricsHandler(ctx)
	w.publish()
	alive, stop := keepWaiting(ctx, q.Temporal, BeatEvery(in.Rule), news, func() any { return w.snapshot() })
	defer stop()
	report, err := w.run(alive)
	if interrupted := Interrupted(alive, WatchQuiescence, w.snapshot()); err != nil && interrupted != nil {
		return WatchReport{}, interrupted
	}
	return report, err
}

// BeatEvery is the heartbeat interval of Watch: a watch that polls often hears of a
// cancellation as often, and is missed as soon.
func BeatEvery(rule quiescence.Rule) time.Duration {
	return min(max(rule.Delay.After(0), time.Second), WaitingHeartbeat)
}

package kinesis

import (
	"context"
	"time"

	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"sluice/activities"
	"sluice/activities/s3"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
)

// API is what the Kinesis activities call of the AWS client.
type API interface {
	PutRecords(context.Context, *awskinesis.PutRecordsInput, ...func(*awskinesis.Options)) (*awskinesis.PutRecordsOutput, error)
	ListShards(context.Context, *awskinesis.ListShardsInput, ...func(*awskinesis.Options)) (*awskinesis.ListShardsOutput, error)
	DescribeStreamSummary(context.Context, *awskinesis.DescribeStreamSummaryInput, ...func(*awskinesis.Options)) (*awskinesis.DescribeStreamSummaryOutput, error)
}

// Settings size the worker's producers, one a stream.
type Settings struct {
	Limits         recordbatch.Limits
	FlushInterval  time.Duration // how long a record waits for company
	BufferRecords  int           // records that wait or are in flight, of one stream; 0: as many as keep its connections busy
	BufferBytes    int           // memory that they may take
	MaxConnections int           // requests in flight, of one stream; 0: as many as its latency calls for, 8 to 32
	RequestTimeout time.Duration // how long an answer is waited for
	Protocol       string        // ProtocolJSON, or ProtocolCBOR where the service takes it
	// Shard is the pace kept on each shard; zero values: none.
	Shard recordbatch.Pace
}

// DefaultSettings are those that the worker has without configuration; the pace is what the service allows a shard.
func DefaultSettings() Settings {
	return Settings{
		Limits:         recordbatch.Limits{Records: 500, RequestBytes: 5 << 20, RecordBytes: 1 << 20},
		FlushInterval:  100 * time.Millisecond,
		BufferBytes:    64 << 20,
		RequestTimeout: 6 * time.Second,
		Protocol:       ProtocolJSON,
		Shard:          recordbatch.Pace{Records: 1000, Bytes: 1 << 20},
	}
}

// Activities puts records to streams: those of a call, and those of an S3 object.
// All activities of a worker that write to a stream share one producer.
type Activities struct {
	API     API
	Objects s3.ObjectReader
	Letters DeadLetterWriter
	// Marks record heartbeats of which it must be known that they arrived.
	Marks    activities.HeartbeatRecorder
	Settings Settings
	Metrics  client.MetricsHandler
	Logger   log.Logger

	streams  streams
	protocol protocol
}

// recorder records the heartbeats of one activity. Without a client, as in a
// test's environment, they go the activity's usual way.
func (k *Activities) recorder(ctx context.Context) func(context.Context, any) error {
	if k.Marks == nil {
		return func(_ context.Context, details any) error {
			activity.RecordHeartbeat(ctx, details)
			return nil
		}
	}
	token := activity.GetInfo(ctx).TaskToken
	return func(ctx context.Context, details any) error {
		return k.Marks.RecordActivityHeartbeat(ctx, token, details)
	}
}

// All lists the activities under their names.
func (k *Activities) All() []activities.Named {
	return []activities.Named{
		{Name: wire.KinesisPutRecords, Code: k.PutRecords},
		activities.On(wire.PutBatch, k.PutBatch),
		{Name: wire.KinesisPutObject, Code: k.PutObject},
	}
}

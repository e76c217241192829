package sluice

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"

	"sluice/activities/dynamodb"
	"sluice/activities/kinesis"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
)

// A DynamoDBClient calls DynamoDB from a program's own code, without a workflow, within
// the same budgets that the fleet's workers share: together they stay below what a table
// or an index has. The budgets live in Temporal, so at least one worker has to run.
// It may be used by many goroutines.
type DynamoDBClient struct{ db *dynamodb.Activities }

// OpenDynamoDB makes a client; Close gives its shares of capacity back.
func OpenDynamoDB(c Config, made *Clients, hooks Hooks) *DynamoDBClient {
	return &DynamoDBClient{dynamodb.New(dynamoDBConfig(c, made, hooks))}
}

// Close ends the client's leases. Nothing is called after it.
func (d *DynamoDBClient) Close() { d.db.Close() }

// Call calls an operation ("PutItem") with a document as `aws dynamodb … --cli-input-json`
// takes it, raw or anything whose JSON it is, and answers the API's own document. Priority
// is 1 (first) to 5; 0 is 3. A call waits for its turn, and what is Throttled or Unavailable
// is repeated until ctx ends; its last error is returned then. Every other error is final
// and has a type of activities.Type…: Ambiguous says that a write that must not be repeated
// may have been applied.
func (d *DynamoDBClient) Call(ctx context.Context, operation string, document any, priority int) (json.RawMessage, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, fmt.Errorf("DynamoDB.%s: %w", operation, err)
	}
	for failures := 1; ; failures++ {
		answer, err := d.db.Call(ctx, operation, raw, priority)
		var application *temporal.ApplicationError
		if err == nil || !errors.As(err, &application) || application.NonRetryable() {
			return answer, err
		}
		pause := time.NewTimer(pauseAfter(application.NextRetryDelay(), failures))
		select {
		case <-pause.C:
		case <-ctx.Done():
			pause.Stop()
			return nil, err
		}
	}
}

// pauseAfter is what the error says, else up to a minute with jitter.
func pauseAfter(said time.Duration, failures int) time.Duration {
	if said > 0 {
		return said
	}
	most := min(time.Second<<min(failures-1, 6), time.Minute)
	return most/2 + rand.N(most/2)
}

// A KinesisProducer puts records to streams from a program's own code, without a workflow:
// what many goroutines put is packed into full requests, at the pace of the shards, and
// only refused records are sent again.
type KinesisProducer struct{ producer *kinesis.Activities }

// OpenKinesis makes a producer with the settings of the configuration (SLUICE_KINESIS_…).
// It holds nothing that has to be closed.
func OpenKinesis(c Config, made *Clients, hooks Hooks) *KinesisProducer {
	return &KinesisProducer{newKinesis(c, made, nil, hooks)}
}

// A KinesisRecord is a record to put.
type KinesisRecord struct {
	Data            []byte
	PartitionKey    string
	ExplicitHashKey string // chooses the shard in place of the key; "" for none
}

// ProducerOptions say how records are put; the zero value is the default.
type ProducerOptions struct {
	Ordered     bool // no record is stored before an earlier one of its key in the same call
	Aggregate   bool // join records in the format of the Kinesis Producer Library
	MaxAttempts int  // for each record, then it has failed; 0 is 10
}

// Put puts records to a stream, given by name or ARN, and returns when each is stored or has
// failed: the output counts both, and lists the first thousand that failed. The error is of
// the call as a whole (AccessDenied, NotFound, ctx's own); what was stored until then is in
// the output. Records whose fate stayed unknown are PossiblyDuplicated.
func (p *KinesisProducer) Put(ctx context.Context, stream string, records []KinesisRecord, options ProducerOptions) (kinesis.PutRecordsOutput, error) {
	to := kinesis.Destination{StreamName: stream, Ordering: wire.OrderingNone, Aggregate: options.Aggregate, MaxAttempts: options.MaxAttempts}
	if strings.HasPrefix(stream, "arn:") {
		to.StreamName, to.StreamARN = "", stream
	}
	if options.Ordered {
		to.Ordering = wire.OrderingKey
	}
	if to.MaxAttempts <= 0 {
		to.MaxAttempts = defaultAttempts
	}
	list := make([]recordbatch.Record, len(records))
	for i, r := range records {
		list[i] = recordbatch.Record{Data: r.Data, Key: r.PartitionKey, HashKey: r.ExplicitHashKey}
	}
	return p.producer.Send(ctx, to, list)
}

// defaultAttempts are those of the activities.
const defaultAttempts = 10

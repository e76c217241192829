package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sluice/workflows"
)

// arrivals are how many each watch is to see.
const arrivals = 20

// watches of a bucket, an item and a signal end when all have arrived, one of a queue
// when it is empty.
func watches(ctx context.Context, w *world) (promises []Promise, err error) {
	id := func(source string) string { return fmt.Sprintf("quiescence/%s-%s", w.name, source) }
	expected := map[string]int64{"count": arrivals}
	for _, source := range []string{"s3", "dynamodb", "signal"} {
		promises = append(promises, Promise{System: "watches", ID: id(source), States: []string{"DONE expected"}, Figures: expected})
	}
	promises = append(promises, Promise{System: "watches", ID: id("sqs"), States: []string{"DONE quiet"}})
	item := map[string]any{"id": map[string]any{"S": "watched"}}
	watch := func(source string, document map[string]any, more map[string]any) error {
		in := map[string]any{"source": map[string]any{source: document}, "delay": map[string]any{"base": "1s"}, "repeats": 100_000, "expected": arrivals}
		for name, value := range more {
			in[name] = value
		}
		return w.start(ctx, id(source), workflows.TypeQuiescence, in)
	}
	err = errors.Join(
		watch("s3", map[string]any{"bucket": w.made.watchedBucket}, nil),
		watch("dynamodb", map[string]any{"table": w.made.watchedTable, "key": item}, nil),
		watch("signal", map[string]any{}, nil),
		watch("sqs", map[string]any{"queueUrl": w.made.watchedQueue}, map[string]any{"repeats": 3, "expected": 0}))
	if err != nil {
		return promises, err
	}
	err = w.inTurn(ctx, arrivals, func(ctx context.Context, i int) error { return w.arrive(ctx, id("signal"), i) })
	if err != nil {
		return promises, err
	}
	if err := w.emptyQueue(ctx, id("sqs")); err != nil {
		return promises, err
	}
	for _, p := range promises {
		if err := w.ended(ctx, p.ID); err != nil {
			return promises, err
		}
	}
	return promises, nil
}

// arrive has one more come at every source. Each call may be repeated, but none comes
// after the next one's: a total that is told late is a lower one.
func (w *world) arrive(ctx context.Context, signalled string, i int) error {
	key, total := fmt.Sprint("object", i), fmt.Sprint(i+1)
	raise := &dynamodb.UpdateItemInput{TableName: &w.made.watchedTable,
		Key:                       map[string]dynamodbtypes.AttributeValue{"id": &dynamodbtypes.AttributeValueMemberS{Value: "watched"}},
		UpdateExpression:          aws.String("SET num_records = :n"),
		ExpressionAttributeValues: map[string]dynamodbtypes.AttributeValue{":n": &dynamodbtypes.AttributeValueMemberN{Value: total}}}
	return errors.Join(
		again(ctx, key, func(ctx context.Context) error {
			_, err := w.s.S3.PutObject(ctx, &s3.PutObjectInput{Bucket: &w.made.watchedBucket, Key: &key, Body: strings.NewReader(key)})
			return err
		}),
		again(ctx, "item "+total, func(ctx context.Context) error {
			_, err := w.s.DynamoDB.UpdateItem(ctx, raise)
			return err
		}),
		again(ctx, "message "+total, func(ctx context.Context) error {
			_, err := w.s.SQS.SendMessage(ctx, &sqs.SendMessageInput{QueueUrl: &w.made.watchedQueue, MessageBody: &key})
			return err
		}),
		again(ctx, "signal "+total, func(ctx context.Context) error {
			err := w.s.Client.SignalWorkflow(ctx, signalled, "", workflows.SignalObserved, json.RawMessage(`{"total":`+total+`}`))
			if err != nil && !w.running(ctx, signalled) {
				return nil
			}
			return err
		}))
}

// emptyQueue takes all messages once the watch has seen some, until it has ended.
func (w *world) emptyQueue(ctx context.Context, watch string) error {
	err := w.until(ctx, watch, func(status map[string]any) error {
		if status["phase"] == "WAITING" {
			return errors.New("it has seen no message")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return again(ctx, watch+" sees an empty queue", func(ctx context.Context) error {
		got, err := w.s.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &w.made.watchedQueue, MaxNumberOfMessages: 10})
		if err != nil {
			return err
		}
		for _, m := range got.Messages {
			if _, err := w.s.SQS.DeleteMessage(ctx, &sqs.DeleteMessageInput{QueueUrl: &w.made.watchedQueue, ReceiptHandle: m.ReceiptHandle}); err != nil {
				return err
			}
		}
		if w.running(ctx, watch) {
			return errors.New("it is running")
		}
		return nil
	})
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.uber.org/zap"
	"golang.org/x/time/rate"

	"sluice/activities/dynamodb"
	"sluice/internal/connect"
	"sluice/workflows/throughput"
)

// put writes one item of one unit, and returns when it is written or has failed
// for good.
type put func(ctx context.Context, id string, priority int) error

// work is one worker process: it makes calls at a fixed rate, each of which waits
// as long as it takes.
func work(order string) error {
	var o orders
	if err := json.Unmarshal([]byte(order), &o); err != nil {
		return err
	}
	put, closing, err := way(o)
	if err != nil {
		return err
	}
	defer closing()
	ctx, cancel := context.WithTimeout(context.Background(), o.Length)
	defer cancel()
	w := waits{ByPriority: map[int][]float64{}}
	var mu sync.Mutex
	var all sync.WaitGroup
	began := time.Now()
	for n := 0; ctx.Err() == nil; n++ {
		at := time.Duration(float64(n) / o.Rate * float64(time.Second))
		select {
		case <-ctx.Done():
		case <-time.After(at - time.Since(began)):
		}
		priority := []int{1, 3, 3, 3, 3, 5, 5, 5, 5, 5}[n%10]
		all.Go(func() {
			asked := time.Now()
			err := put(ctx, fmt.Sprintf("%s-%d", o.Worker, n), priority)
			mu.Lock()
			defer mu.Unlock()
			// What still waits at the end has waited so long at least.
			w.ByPriority[priority] = append(w.ByPriority[priority], time.Since(asked).Seconds())
			switch {
			case err == nil:
				w.Done++
			case ctx.Err() == nil:
				w.Failed++
			}
		})
	}
	all.Wait()
	return json.NewEncoder(os.Stdout).Encode(w)
}

func way(o orders) (put, func(), error) {
	options := awsdynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &o.DynamoDB,
		Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	}
	none := func() {}
	switch o.Way {
	case "ours":
		return oursIn(o, awsdynamodb.New(options))
	case "standard":
		options.Retryer = retry.NewStandard()
		return plain(awsdynamodb.New(options), o.Table), none, nil
	case "adaptive":
		options.Retryer = retry.NewAdaptiveMode()
		return plain(awsdynamodb.New(options), o.Table), none, nil
	default:
		options.Retryer = retry.NewStandard()
		limiter := rate.NewLimiter(rate.Limit(o.Share), 1)
		unlimited := plain(awsdynamodb.New(options), o.Table)
		return func(ctx context.Context, id string, priority int) error {
			if limiter.Wait(ctx) != nil {
				<-ctx.Done() // its turn is after the end of the measurement
				return ctx.Err()
			}
			return unlimited(ctx, id, priority)
		}, none, nil
	}
}

func plain(c *awsdynamodb.Client, table string) put {
	return func(ctx context.Context, id string, _ int) error {
		_, err := c.PutItem(ctx, &awsdynamodb.PutItemInput{
			TableName: &table, Item: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: id}},
			ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
		})
		return err
	}
}

// oursIn calls through the scheduler, as an activity does, and comes again where
// it says so, as Temporal does.
func oursIn(o orders, c *awsdynamodb.Client) (put, func(), error) {
	logger := connect.TemporalLogger(zap.NewNop())
	dialled, err := client.Dial(client.Options{HostPort: o.Temporal, Logger: logger})
	if err != nil {
		return nil, nil, err
	}
	db := dynamodb.New(dynamodb.Config{
		Client: c, Place: o.Scope + "/us-east-1", Worker: o.Worker, Logger: logger,
		Owner: throughput.Owners{Client: dialled, TaskQueue: o.TaskQueue},
	})
	return func(ctx context.Context, id string, priority int) error {
		document, err := json.Marshal(map[string]any{"TableName": o.Table, "Item": map[string]any{"id": map[string]string{"S": id}}})
		if err != nil {
			return err
		}
		for {
			_, err := db.Call(ctx, "PutItem", document, priority)
			var application *temporal.ApplicationError
			if err == nil || !errors.As(err, &application) || application.NonRetryable() {
				return err
			}
			select {
			case <-time.After(application.NextRetryDelay()):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}, func() { db.Close(); dialled.Close() }, nil
}

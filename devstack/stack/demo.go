package stack

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2/queueerror"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	kinesistypes "github.com/aws/aws-sdk-go-v2/service/kinesis/types"

	"sluice/devstack/delivery"
)

// Demo names what the demo works on, and how much of it there is.
type Demo struct {
	Bucket, DeliveryBucket, Stream, Table, Queue, Notifications string

	Shards int32
	// Units a second of the table: few enough that the throttle has to work.
	Read, Write int64
}

// DefaultDemo is made by `devstack up`.
func DefaultDemo() Demo {
	return Demo{Bucket: "sluice-demo", DeliveryBucket: "sluice-demo-delivered", Stream: "sluice-demo", Table: "sluice-demo",
		Queue: "sluice-demo-tasks", Notifications: "sluice-demo-delivered", Shards: 4, Read: 50, Write: 25}
}

// Make makes what isn't there yet, starts the delivery if there is a manager, and
// answers the environment that names all of it.
func (d Demo) Make(ctx context.Context, c *Clients, manager *delivery.Manager) (Env, error) {
	if err := delivery.MakeBucket(ctx, c.S3, d.Bucket); err != nil {
		return nil, fmt.Errorf("bucket %s: %w", d.Bucket, err)
	}
	if err := d.makeStream(ctx, c); err != nil {
		return nil, fmt.Errorf("stream %s: %w", d.Stream, err)
	}
	if err := d.makeTable(ctx, c); err != nil {
		return nil, fmt.Errorf("table %s: %w", d.Table, err)
	}
	if c.Azure != nil {
		if _, err := c.Azure.CreateQueue(ctx, d.Queue, nil); err != nil && !queueerror.HasCode(err, queueerror.QueueAlreadyExists) {
			return nil, fmt.Errorf("azure queue %s: %w", d.Queue, err)
		}
	}
	notifications, err := d.deliver(ctx, c, manager)
	if err != nil {
		return nil, fmt.Errorf("delivery: %w", err)
	}
	return Env{
		{"SLUICE_DEMO_BUCKET", d.Bucket},
		{"SLUICE_DEMO_QUEUE", d.Queue},
		{"SLUICE_DEMO_STREAM", d.Stream},
		{"SLUICE_DEMO_TABLE", d.Table},
		{"SLUICE_DEMO_DELIVERY_BUCKET", d.DeliveryBucket},
		{"SLUICE_DEMO_NOTIFICATIONS", notifications},
	}, nil
}

func (d Demo) deliver(ctx context.Context, c *Clients, manager *delivery.Manager) (string, error) {
	if manager != nil {
		return manager.Add(ctx, delivery.Request{Stream: d.Stream, Bucket: d.DeliveryBucket, Notifications: d.Notifications})
	}
	if err := delivery.MakeBucket(ctx, c.S3, d.DeliveryBucket); err != nil {
		return "", err
	}
	return delivery.Announce(ctx, c.S3, c.SQS, d.DeliveryBucket, "", d.Notifications)
}

func (d Demo) makeStream(ctx context.Context, c *Clients) error {
	_, err := c.Kinesis.CreateStream(ctx, &kinesis.CreateStreamInput{StreamName: &d.Stream, ShardCount: &d.Shards})
	var there *kinesistypes.ResourceInUseException
	if err != nil && !errors.As(err, &there) {
		return err
	}
	return kinesis.NewStreamExistsWaiter(c.Kinesis, func(o *kinesis.StreamExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond }).
		Wait(ctx, &kinesis.DescribeStreamInput{StreamName: &d.Stream}, time.Minute)
}

func (d Demo) makeTable(ctx context.Context, c *Clients) error {
	_, err := c.DynamoDB.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:             &d.Table,
		AttributeDefinitions:  []dynamotypes.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: dynamotypes.ScalarAttributeTypeS}},
		KeySchema:             []dynamotypes.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: dynamotypes.KeyTypeHash}},
		ProvisionedThroughput: &dynamotypes.ProvisionedThroughput{ReadCapacityUnits: &d.Read, WriteCapacityUnits: &d.Write},
	})
	var there *dynamotypes.ResourceInUseException
	if err != nil && !errors.As(err, &there) {
		return err
	}
	return dynamodb.NewTableExistsWaiter(c.DynamoDB, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond }).
		Wait(ctx, &dynamodb.DescribeTableInput{TableName: &d.Table}, time.Minute)
}

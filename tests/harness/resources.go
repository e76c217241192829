package harness

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamodbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	kinesistypes "github.com/aws/aws-sdk-go-v2/service/kinesis/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// A Table says how a table is to be: its units for reads and writes (0 is on
// demand) and its indexes, each by one attribute that is a string.
type Table struct {
	Read, Write int64
	Indexes     []dynamodbtypes.GlobalSecondaryIndex
}

// NewTable makes a table with the string hash key `id` and returns when it is
// active.
func (s *Stack) NewTable(t Table) string {
	s.t.Helper()
	name := s.Name("table")
	in := &dynamodb.CreateTableInput{
		TableName:              &name,
		KeySchema:              []dynamodbtypes.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: dynamodbtypes.KeyTypeHash}},
		AttributeDefinitions:   []dynamodbtypes.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: dynamodbtypes.ScalarAttributeTypeS}},
		GlobalSecondaryIndexes: t.Indexes,
		BillingMode:            dynamodbtypes.BillingModePayPerRequest,
	}
	for _, index := range t.Indexes {
		in.AttributeDefinitions = append(in.AttributeDefinitions, dynamodbtypes.AttributeDefinition{
			AttributeName: index.KeySchema[0].AttributeName, AttributeType: dynamodbtypes.ScalarAttributeTypeS,
		})
	}
	if t.Read > 0 || t.Write > 0 {
		in.BillingMode = dynamodbtypes.BillingModeProvisioned
		in.ProvisionedThroughput = &dynamodbtypes.ProvisionedThroughput{ReadCapacityUnits: &t.Read, WriteCapacityUnits: &t.Write}
	}
	_, err := s.DynamoDB.CreateTable(s.t.Context(), in)
	s.made("table "+name, err, func(ctx context.Context) error {
		out, err := s.DynamoDB.DescribeTable(ctx, &dynamodb.DescribeTableInput{TableName: &name})
		if err == nil && out.Table.TableStatus != dynamodbtypes.TableStatusActive {
			return errors.New(string(out.Table.TableStatus))
		}
		return err
	})
	return name
}

// NewStream makes a stream and returns when it is active.
func (s *Stack) NewStream(shards int) string {
	s.t.Helper()
	name, count := s.Name("stream"), int32(shards)
	_, err := s.Kinesis.CreateStream(s.t.Context(), &kinesis.CreateStreamInput{StreamName: &name, ShardCount: &count})
	s.made("stream "+name, err, func(ctx context.Context) error {
		out, err := s.Kinesis.DescribeStreamSummary(ctx, &kinesis.DescribeStreamSummaryInput{StreamName: &name})
		if err == nil && out.StreamDescriptionSummary.StreamStatus != kinesistypes.StreamStatusActive {
			return errors.New(string(out.StreamDescriptionSummary.StreamStatus))
		}
		return err
	})
	return name
}

// NewBucket makes a bucket and returns when it answers.
func (s *Stack) NewBucket() string {
	s.t.Helper()
	name := s.Name("bucket")
	_, err := s.S3.CreateBucket(s.t.Context(), &s3.CreateBucketInput{Bucket: &name})
	s.made("bucket "+name, err, func(ctx context.Context) error {
		_, err := s.S3.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &name})
		return err
	})
	return name
}

// NewQueue makes an SQS queue with these attributes and returns its URL when it
// answers.
func (s *Stack) NewQueue(attributes map[string]string) (url string) {
	s.t.Helper()
	name := s.Name("queue")
	made, err := s.SQS.CreateQueue(s.t.Context(), &sqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	if err == nil {
		url = *made.QueueUrl
	}
	s.made("queue "+name, err, func(ctx context.Context) error {
		_, err := s.SQS.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: &url})
		return err
	})
	return url
}

// NewAzureQueue makes an Azure queue of this name and returns when it answers.
func (s *Stack) NewAzureQueue(name string) {
	s.t.Helper()
	_, err := s.Queues.CreateQueue(s.t.Context(), name, nil)
	s.made("azure queue "+name, err, func(ctx context.Context) error {
		_, err := s.Queues.NewQueueClient(name).GetProperties(ctx, nil)
		return err
	})
}

// made fails the test when the making failed, and waits until what was made can
// be used.
func (s *Stack) made(what string, err error, usable func(context.Context) error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatalf("%s: %v", what, err)
	}
	Await(s.t, what+" can be used", usable)
}

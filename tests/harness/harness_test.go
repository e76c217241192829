package harness_test

import (
	"os"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

func TestStackAnswersOnEveryDoor(t *testing.T) {
	s := harness.Start(t)
	ctx := t.Context()

	_, err := s.DynamoDB.ListTables(ctx, &dynamodb.ListTablesInput{})
	require.NoError(t, err)
	_, err = s.Kinesis.ListStreams(ctx, &kinesis.ListStreamsInput{})
	require.NoError(t, err)
	_, err = s.S3.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: aws.String(s.Name("bucket"))})
	require.NoError(t, err)
	_, err = s.SQS.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: aws.String(s.Name("queue"))})
	require.NoError(t, err)
	_, err = s.Queues.CreateQueue(ctx, s.Name("queue"), nil)
	require.NoError(t, err)

	listed := s.Temporal("workflow", "count", "--query", `SluiceState="RUNNING"`).OK(t)
	require.Contains(t, listed.Stdout, "0")
}

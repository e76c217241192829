package harness_test

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
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
	s.NewTable(harness.Table{Read: 1, Write: 1})
	s.NewBucket()
	s.NewQueue(nil)
	s.NewAzureQueue(s.Name("queue"))

	listed := s.Temporal("workflow", "count", "--query", `SluiceState="RUNNING"`).OK(t)
	require.Contains(t, listed.Stdout, "0")
}

func TestDeliveredRecordsAreAnnounced(t *testing.T) {
	s := harness.Start(t)
	d := s.Deliver(2, "100ms")
	_, err := s.Kinesis.PutRecord(t.Context(), &kinesis.PutRecordInput{StreamName: &d.Stream, PartitionKey: aws.String("k"), Data: []byte("one\n")})
	require.NoError(t, err)
	harness.Await(t, "the object is announced", func(ctx context.Context) error {
		out, err := s.SQS.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{QueueUrl: &d.Notifications, WaitTimeSeconds: 1})
		if err != nil {
			return err
		}
		for _, m := range out.Messages {
			if strings.Contains(*m.Body, "ObjectCreated:Put") {
				return nil
			}
		}
		return errors.New("not announced")
	})
	require.Equal(t, 1, s.Guard.Counters(t).Sum(harness.Kinesis, "PutRecord", d.Stream).Records)
}

func TestServerComesBackUnderTheSameAddress(t *testing.T) {
	s := harness.Start(t, harness.Options{Own: true, Args: []string{"--data", t.TempDir(), "--no-ui"}})
	s.Temporal("workflow", "start", "--type", "Nobody", "--task-queue", "none", "--workflow-id", "kept").OK(t)
	s.RestartTemporal()
	require.Contains(t, s.Temporal("workflow", "describe", "--workflow-id", "kept").OK(t).Stdout, "Nobody")
}

package quiescence_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

func put(t *testing.T, s *harness.Stack, bucket, key, body string) {
	t.Helper()
	_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(body)})
	require.NoError(t, err)
}

func TestSources(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	const rule = `"repeats":2,"delay":{"base":"300ms"}`

	t.Run("dynamodb", func(t *testing.T) {
		counts := s.NewTable(harness.Table{})
		run := watch(t, s, s.Name("watch"), fmt.Sprintf(`{"source":{"dynamodb":{"table":%q,"key":{"id":{"S":"landing"}}}},%s}`, counts, rule))
		_, err := s.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &counts, Item: map[string]types.AttributeValue{
			"id": &types.AttributeValueMemberS{Value: "landing"}, "num_records": &types.AttributeValueMemberN{Value: "3"},
		}})
		require.NoError(t, err)
		r := resultOf(t, run)
		require.Equal(t, "quiet", r.Reason)
		require.EqualValues(t, 3, r.Count)
		s.Record(run.GetID(), "Quiescence", "dynamodb")
	})
	t.Run("s3", func(t *testing.T) {
		landing := s.NewBucket()
		put(t, s, landing, "in/a.csv", "a")
		put(t, s, landing, "in/dir/", "")
		put(t, s, landing, "other/b.csv", "b")
		run := watch(t, s, s.Name("watch"), fmt.Sprintf(`{"source":{"s3":{"bucket":%q,"prefix":"in/"}},%s}`, landing, rule))
		r := resultOf(t, run)
		require.Equal(t, "quiet", r.Reason)
		require.EqualValues(t, 1, r.Count)
	})
	t.Run("sqs", func(t *testing.T) {
		url := s.NewQueue(nil)
		_, err := s.SQS.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &url, MessageBody: aws.String("x")})
		require.NoError(t, err)
		id := s.Name("watch")
		run := watch(t, s, id, fmt.Sprintf(`{"source":{"sqs":{"queueUrl":%q}},%s}`, url, rule))
		awaitPhase(t, s, id, "FLOWING")
		_, err = s.SQS.PurgeQueue(t.Context(), &sqs.PurgeQueueInput{QueueUrl: &url})
		require.NoError(t, err)
		r := resultOf(t, run)
		require.Equal(t, "quiet", r.Reason)
		require.Zero(t, r.Count)
	})
}

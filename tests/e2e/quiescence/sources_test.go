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

// table makes a table as CountObjects needs it.
func table(t *testing.T, s *harness.Stack) string {
	t.Helper()
	name := s.Name("counts")
	_, err := s.DynamoDB.CreateTable(t.Context(), &dynamodb.CreateTableInput{
		TableName:            &name,
		BillingMode:          types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{{AttributeName: aws.String("id"), AttributeType: types.ScalarAttributeTypeS}},
		KeySchema:            []types.KeySchemaElement{{AttributeName: aws.String("id"), KeyType: types.KeyTypeHash}},
	})
	require.NoError(t, err)
	return name
}

func bucket(t *testing.T, s *harness.Stack) string {
	t.Helper()
	name := s.Name("landing")
	_, err := s.S3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &name})
	require.NoError(t, err)
	return name
}

func put(t *testing.T, s *harness.Stack, bucket, key, body string) {
	t.Helper()
	_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(body)})
	require.NoError(t, err)
}

func queue(t *testing.T, s *harness.Stack, attributes map[string]string) string {
	t.Helper()
	made, err := s.SQS.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String(s.Name("events")), Attributes: attributes})
	require.NoError(t, err)
	return *made.QueueUrl
}

func TestSources(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	const rule = `"repeats":2,"delay":{"base":"300ms"}`

	t.Run("dynamodb", func(t *testing.T) {
		counts := table(t, s)
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
		landing := bucket(t, s)
		put(t, s, landing, "in/a.csv", "a")
		put(t, s, landing, "in/dir/", "")
		put(t, s, landing, "other/b.csv", "b")
		run := watch(t, s, s.Name("watch"), fmt.Sprintf(`{"source":{"s3":{"bucket":%q,"prefix":"in/"}},%s}`, landing, rule))
		r := resultOf(t, run)
		require.Equal(t, "quiet", r.Reason)
		require.EqualValues(t, 1, r.Count)
	})
	t.Run("sqs", func(t *testing.T) {
		url := queue(t, s, nil)
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

package soak

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// resources of a round are made before its plan begins: harness waits for them on the
// test's own goroutine.
type resources struct {
	table, stream, objects       string // of DynamoDB and Kinesis
	watchedBucket, watchedTable  string
	watchedQueue                 string
	landing, announced, counters string // of CountObjects
	tasks                        string
	delivery                     harness.Delivery
	source, progress, ingests    string // of Ingest
}

// units are what the table of the throttled calls takes a second.
const units = 20

func makeResources(t testing.TB, s *harness.Stack) resources {
	r := resources{
		table: s.NewTable(harness.Table{Read: units, Write: units}), stream: s.NewStream(2), objects: s.NewBucket(),
		watchedBucket: s.NewBucket(), watchedTable: s.NewTable(harness.Table{}), watchedQueue: s.NewQueue(nil),
		landing: s.NewBucket(), announced: s.NewQueue(map[string]string{"VisibilityTimeout": "5"}), counters: s.NewTable(harness.Table{}),
		tasks: s.Name("tasks"), delivery: s.Deliver(2, "2s"),
		source: s.NewBucket(), progress: s.NewTable(harness.Table{Read: 50, Write: 50}), ingests: s.Name("ingests"),
	}
	for _, queue := range []string{r.tasks, r.tasks + "-poison", r.ingests, r.ingests + "-poison"} {
		s.NewAzureQueue(queue)
	}
	announce(t, s, r.landing, r.announced)
	return r
}

// announce has a bucket tell a queue of new objects.
func announce(t testing.TB, s *harness.Stack, bucket, queue string) {
	attributes, err := s.SQS.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &queue, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameQueueArn}})
	require.NoError(t, err)
	_, err = s.S3.PutBucketNotificationConfiguration(t.Context(), &s3.PutBucketNotificationConfigurationInput{
		Bucket: &bucket,
		NotificationConfiguration: &s3types.NotificationConfiguration{QueueConfigurations: []s3types.QueueConfiguration{{
			QueueArn: aws.String(attributes.Attributes["QueueArn"]), Events: []s3types.Event{"s3:ObjectCreated:*"},
		}}},
	})
	require.NoError(t, err)
}

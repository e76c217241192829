package webui_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	sdkpb "go.temporal.io/api/sdk/v1"

	"sluice/internal/wire"
	"sluice/tests/harness"
)

// stuck is a workflow that waits for something in vain.
type stuck struct {
	group, id, document string
	trouble             string // its type
}

// troubles makes a workflow of every kind that can wait in vain, and what they wait for
// fail.
func troubles(t *testing.T, s *harness.Stack) []stuck {
	t.Helper()
	unavailable := func(service, operation, target string) {
		s.Guard.Inject(t, harness.Fault{Service: service, Operation: operation, Target: target, Status: 503, Code: "ServiceUnavailable"})
	}
	events, table, bucket := s.NewQueue(nil), s.NewTable(harness.Table{}), s.NewBucket()
	queue, stream := wire.QueueName(events), s.Name("stream")
	tasks := s.Name("tasks")
	s.NewAzureQueue(tasks)
	unavailable(harness.SQS, "ReceiveMessage", queue)
	unavailable(harness.AzQueue, "PutMessage", tasks)
	_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: aws.String("object"), Body: strings.NewReader("{}\n")})
	require.NoError(t, err)
	return []stuck{
		{"request", "request/" + s.Name("r"), fmt.Sprintf(`{"jobs":[{"id":"load","activity":"Load","taskQueue":%q}]}`, s.Name("nobody")), "Unavailable"},
		{"producer", "producer/" + stream, fmt.Sprintf(`{"stream":%q}`, stream), "NotFound"},
		{"quiescence", "quiescence/" + s.Name("q"), fmt.Sprintf(`{"source":{"dynamodb":{"table":%q,"key":{"id":{"S":"x"}}}},"delay":{"base":"1s"}}`, s.Name("missing")), "NotFound"},
		{"count", "count/" + queue, fmt.Sprintf(`{"queueUrl":%q,"table":%q}`, events, table), "Unavailable"},
		{"claim", "claim/" + s.Name("c"), fmt.Sprintf(`{"queues":[{"name":%q}]}`, s.Name("missing")), "NotFound"},
		{"ingest", "ingest/" + s.Name("i"), fmt.Sprintf(`{"bucket":%q,"queue":%q,"stream":%q,"table":%q,"delivery":{"bucket":%q,"prefix":"delivered/","notifications":%q}}`,
			bucket, tasks, s.NewStream(1), table, bucket, events), "Unavailable"},
	}
}

func TestWhoWaitsInVainIsFoundByItsTroubleAndTellsItInItsStatus(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	waiting := troubles(t, s)
	for _, w := range waiting {
		run(t, s, w.group, w.id, w.document)
		if w.group == "producer" {
			s.StarterWith(`[{"Data":"eA==","PartitionKey":"k"}]`, "producer", "add", w.id, "-f", "-").OK(t)
		}
	}
	for _, w := range waiting {
		t.Run(w.group, func(t *testing.T) {
			awaitListed(t, s, w.id, fmt.Sprintf("SluiceTrouble = '%s'", w.trouble))
			var status struct{ Trouble *struct{ Type, Error string } }
			value, err := s.Client.QueryWorkflow(t.Context(), w.id, "", "status")
			require.NoError(t, err)
			require.NoError(t, value.Get(&status))
			require.NotNil(t, status.Trouble)
			require.Equal(t, w.trouble, status.Trouble.Type)
			require.NotEmpty(t, status.Trouble.Error)
			require.Contains(t, details(t, s, w.id), "**In trouble**, `"+w.trouble+"`: ")
			require.LessOrEqual(t, len(events(t, s, w.id, enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES)), 2)
		})
	}
}

// A workflow that all goes well with has its attributes from its start: each upsert
// would be an event and an Action more.
func TestHealthyWorkflowsPayNothingForTheirAttributes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.Starter("setup").OK(t)
	s.StartWorker()
	stream := s.NewStream(1)
	for _, w := range []stuck{
		{"request", "request/" + s.Name("r"), fmt.Sprintf(`{"jobs":[{"id":"wait","activity":"SQS.Send","taskQueue":%q,"input":{"queueUrl":"q","body":"b"}}]}`, s.Name("nobody")), ""},
		{"producer", "producer/" + stream, fmt.Sprintf(`{"stream":%q}`, stream), ""},
		{"quiescence", "quiescence/" + s.Name("q"), `{"source":{"signal":{}}}`, ""},
	} {
		run(t, s, w.group, w.id, w.document)
		awaitListed(t, s, w.id, "SluiceState IS NOT NULL AND SluiceType IS NOT NULL AND SluiceTrouble IS NULL")
		if w.group != "quiescence" { // its target is a signal's
			awaitListed(t, s, w.id, "SluiceTarget IS NOT NULL")
		}
		_, err := s.Client.QueryWorkflow(t.Context(), w.id, "", "status") // it has done its first task
		require.NoError(t, err)
		require.Empty(t, events(t, s, w.id, enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES), w.id)
	}
}

// details are the current details of a workflow, as the Web UI asks for them.
func details(t *testing.T, s *harness.Stack, id string) string {
	t.Helper()
	value, err := s.Client.QueryWorkflow(t.Context(), id, "", "__temporal_workflow_metadata")
	require.NoError(t, err)
	var metadata sdkpb.WorkflowMetadata
	require.NoError(t, value.Get(&metadata))
	return metadata.GetCurrentDetails()
}

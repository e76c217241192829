package ingest

import (
	"strconv"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"sluice/activities"
	"sluice/activities/dynamodb"
	"sluice/activities/s3"
	"sluice/internal/wire"
)

// Activities is the activities of the main job: what it needs beyond those of the
// single systems.
type Activities struct {
	Temporal  client.Client
	Converter converter.DataConverter // the client's, for memos
	TaskQueue string
	S3        *awss3.Client
	Objects   s3.ObjectReader
	SQS       *awssqs.Client
	Kinesis   *awskinesis.Client
	DynamoDB  dynamodb.Caller
	Azure     *azqueue.ServiceClient // nil: no access to Azure queues
}

// All lists the activities under their names.
func (i *Activities) All() []activities.Named {
	return []activities.Named{
		activities.On(wire.IngestPrepare, i.Prepare), activities.Do(wire.IngestJoinCount, i.JoinCount), activities.Do(wire.IngestLeaveCount, i.LeaveCount), activities.Do(wire.IngestEnqueue, i.Enqueue),
		activities.On(wire.IngestAwaitTasks, i.AwaitTasks), activities.On(wire.IngestSummarise, i.Summarise),
	}
}

// listedObject is an object to take in, as the manifest lists it.
type listedObject struct {
	Key  string `json:"key"`
	ETag string `json:"etag"`
	Size int64  `json:"size"`
}

// manifestKey is the object that pins which objects this run takes in.
func manifestKey(p wire.IngestPlan) string { return p.ReportPrefix + p.Run + "/manifest.jsonl" }

// reportKey is the object that tells the outcome for each source object.
func reportKey(p wire.IngestPlan) string { return p.ReportPrefix + p.Run + "/report.json" }

// progressID is the DynamoDB item of object n of the manifest. No bucket name
// begins with #, so it can't clash with what CountObjects keeps in the table:
// counters under "<bucket>", its ledger under "#<bucket>/<key>".
func progressID(p wire.IngestPlan, n int64) string {
	return "##ingest/" + p.Run + "/" + strconv.FormatInt(n, 10)
}

// taskOf names the task of object n, unique among all runs.
func taskOf(p wire.IngestPlan, n int64) string { return p.Run + "-" + strconv.FormatInt(n, 10) }

// taskPrefix starts the workflow IDs of all tasks of a run.
func taskPrefix(run string) string { return "task/" + run + "-" }

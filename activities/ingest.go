package activities

import (
	"strconv"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
)

// The activities of the main job, by their registered names.
const (
	IngestPrepare    = "Ingest.Prepare"
	IngestJoinCount  = "Ingest.JoinCount"
	IngestEnqueue    = "Ingest.Enqueue"
	IngestAwaitTasks = "Ingest.AwaitTasks"
	IngestSummarise  = "Ingest.Summarise"
)

// Ingest is the activities of the main job: what it needs beyond those of the
// single systems.
type Ingest struct {
	Temporal  client.Client
	Converter converter.DataConverter // the client's, for memos
	TaskQueue string
	S3        *s3.Client
	Objects   ObjectReader
	SQS       *sqs.Client
	Kinesis   *kinesis.Client
	DynamoDB  DynamoDBCaller
	Azure     *azqueue.ServiceClient // nil: no access to Azure queues
}

func (i *Ingest) activities() []named {
	return []named{
		{IngestPrepare, i.Prepare}, {IngestJoinCount, i.JoinCount}, {IngestEnqueue, i.Enqueue},
		{IngestAwaitTasks, i.AwaitTasks}, {IngestSummarise, i.Summarise},
	}
}

// IngestPlan is what an ingestion is about, as its activities need it.
type IngestPlan struct {
	Workflow       string `json:"workflow"` // workflow ID
	Run            string `json:"run"`      // first run ID: names records and tasks
	Bucket         string `json:"bucket"`
	Prefix         string `json:"prefix"`
	Format         string `json:"format"`
	Queue          string `json:"queue"`
	Stream         string `json:"stream"`
	Table          string `json:"table"`
	DeliveryBucket string `json:"deliveryBucket"`
	DeliveryPrefix string `json:"deliveryPrefix"`
	Notifications  string `json:"notifications"`
	ReportBucket   string `json:"reportBucket"`
	ReportPrefix   string `json:"reportPrefix"`
}

// IngestPrepared says how much there is to do.
type IngestPrepared struct {
	Objects int64 `json:"objects"`
	Bytes   int64 `json:"bytes"`
}

// IngestJoined says whether the counter was started by this ingestion.
type IngestJoined struct {
	Started bool `json:"started"`
}

// IngestAwait says which tasks to wait for.
type IngestAwait struct {
	Run      string    `json:"run"`
	Total    int64     `json:"total"`
	Deadline time.Time `json:"deadline"` // zero: none
}

// IngestTasks counts tasks that have ended.
type IngestTasks struct {
	Ended int64 `json:"ended"`
	Total int64 `json:"total"`
}

// IngestSummariseInput says what to compare; objects of the delivery that are
// older than Since can't hold records of this run.
type IngestSummariseInput struct {
	Plan  IngestPlan `json:"plan"`
	Since time.Time  `json:"since"`
}

// IngestSummary is the outcome of the comparison by record id.
type IngestSummary struct {
	Records    int64         `json:"records"`
	Delivered  int64         `json:"delivered"` // distinct
	Missing    int64         `json:"missing"`
	Duplicated int64         `json:"duplicated"` // deliveries beyond the first of a record
	Report     IngestLocated `json:"report"`
}

// IngestLocated is the place of an object.
type IngestLocated struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
}

// ingestObject is an object to take in, as the manifest lists it.
type ingestObject struct {
	Key  string `json:"key"`
	ETag string `json:"etag"`
	Size int64  `json:"size"`
}

// manifestKey is the object that pins which objects this run takes in.
func manifestKey(p IngestPlan) string { return p.ReportPrefix + p.Run + "/manifest.jsonl" }

// reportKey is the object that tells the outcome for each source object.
func reportKey(p IngestPlan) string { return p.ReportPrefix + p.Run + "/report.json" }

// progressID is the DynamoDB item of object n of the manifest. No bucket name
// begins with #, so it can't clash with what CountObjects keeps in the table:
// counters under "<bucket>", its ledger under "#<bucket>/<key>".
func progressID(p IngestPlan, n int64) string {
	return "##ingest/" + p.Run + "/" + strconv.FormatInt(n, 10)
}

// taskOf names the task of object n, unique among all runs.
func taskOf(p IngestPlan, n int64) string { return p.Run + "-" + strconv.FormatInt(n, 10) }

// taskPrefix starts the workflow IDs of all tasks of a run.
func taskPrefix(run string) string { return "task/" + run + "-" }

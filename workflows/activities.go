package workflows

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// Activities that jobs name and that workflows of one's own call by these
// references. Their names go into Job.Activity.
var (
	PutRecords     = Activity[PutRecordsInput, PutOutput]{wire.KinesisPutRecords}
	PutObject      = Activity[PutObjectInput, PutOutput]{wire.KinesisPutObject}
	DescribeObject = Activity[DescribeObjectInput, DescribedObject]{wire.S3Describe}
	ListObjects    = Activity[ListObjectsInput, ListedObjects]{wire.S3List}
	SendSQS        = Activity[SendSQSInput, SentMessage]{wire.SQSSend}
	SendAzureQueue = Activity[SendAzureQueueInput, SentMessage]{wire.AzureQueueSend}
	CallHTTP       = Activity[CallHTTPInput, HTTPAnswer]{wire.HTTPCall}
)

// DynamoDB is the activity of an operation, such as "PutItem". Input and output are
// the API's own JSON: {"TableName":"t","Key":{"id":{"S":"x"}}}.
func DynamoDB(operation string) Activity[any, json.RawMessage] {
	return Activity[any, json.RawMessage]{wire.DynamoDBPrefix + operation}
}

// PutOptions are how records go to a stream: StreamName or StreamARN is needed.
type PutOptions struct {
	StreamName  string     `json:"StreamName,omitempty"`
	StreamARN   string     `json:"StreamARN,omitempty"`
	Ordering    string     `json:"Ordering,omitempty"`    // "none" or "key"; "none"
	MaxAttempts int        `json:"MaxAttempts,omitempty"` // of a record; 10
	Aggregate   bool       `json:"Aggregate,omitempty"`   // in the Kinesis Producer Library's format
	OnFailed    string     `json:"OnFailed,omitempty"`    // "report" or "fail"; "report"
	DeadLetter  DeadLetter `json:"DeadLetter,omitzero"`
}

// DeadLetter is where failed records are written: a bucket or an SQS queue.
type DeadLetter struct {
	Bucket   string `json:"bucket,omitempty"`
	Prefix   string `json:"prefix,omitempty"`
	QueueURL string `json:"queueUrl,omitempty"`
}

// PutRecordsInput is the input of PutRecords.
type PutRecordsInput struct {
	PutOptions
	Records []Record `json:"Records"`
}

// PutObjectInput is the input of PutObject: the records of an S3 object.
type PutObjectInput struct {
	PutOptions
	Object       Object `json:"Object"`
	Format       string `json:"Format,omitempty"`       // "lines", "json-array", "csv"; "lines"
	PartitionKey string `json:"PartitionKey,omitempty"` // JMESPath, a constant in backquotes, or "": hash of the record
	Envelope     bool   `json:"Envelope,omitempty"`     // {"id":"<run>/<bucket>/<key>#<n>","data":…} and a newline
	Run          string `json:"Run,omitempty"`          // names the run; "": the calling workflow's ID
}

// PutOutput is what PutRecords and PutObject answer. RecordCount is StoredRecordCount
// and FailedRecordCount together.
type PutOutput struct {
	RecordCount        int64            `json:"RecordCount"`
	StoredRecordCount  int64            `json:"StoredRecordCount"`
	FailedRecordCount  int64            `json:"FailedRecordCount"`
	PutRecordsCalls    int64            `json:"PutRecordsCalls"`    // requests in which records of this call went
	PossiblyDuplicated int64            `json:"PossiblyDuplicated"` // records of which a second copy may be stored
	Shards             map[string]int64 `json:"Shards"`             // stored records by shard
	Failed             []FailedRecord   `json:"Failed"`             // the first 1,000
}

// FailedRecord is a record that is not stored, by its number in the input.
type FailedRecord struct {
	Index        int64  `json:"Index"`
	ErrorCode    string `json:"ErrorCode"`
	ErrorMessage string `json:"ErrorMessage"`
	Attempts     int    `json:"Attempts"`
}

// Object is a version of an S3 object; ETag "" is whatever version is there.
type Object struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
	ETag   string `json:"etag,omitempty"`
	Size   int64  `json:"size,omitempty"` // bytes, as stored; serves progress only
}

// DescribeObjectInput is the input of DescribeObject.
type DescribeObjectInput struct {
	Bucket string `json:"bucket"`
	Key    string `json:"key"`
}

// DescribedObject is what DescribeObject answers.
type DescribedObject struct {
	Object Object `json:"object"`
}

// ListObjectsInput is the input of ListObjects.
type ListObjectsInput struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	Limit  int    `json:"limit,omitempty"` // 0: 10,000, the most
}

// ListedObjects is what ListObjects answers, in the order of the keys.
type ListedObjects struct {
	Objects   []Object `json:"objects"`
	Truncated bool     `json:"truncated"` // there are more
}

// SendSQSInput is the input of SendSQS.
type SendSQSInput struct {
	QueueURL string `json:"queueUrl"`
	Body     any    `json:"body"` // a string is sent as its text, anything else as its JSON
}

// SendAzureQueueInput is the input of SendAzureQueue.
type SendAzureQueueInput struct {
	Queue string `json:"queue"`
	Body  any    `json:"body"`            // as with SendSQS
	Delay string `json:"delay,omitempty"` // until it becomes visible; at most "168h"
}

// SentMessage is what both answer.
type SentMessage struct {
	MessageID string `json:"messageId"`
}

// CallHTTPInput is the input of CallHTTP.
type CallHTTPInput struct {
	URL    string `json:"url"`
	Method string `json:"method,omitempty"` // "POST"
	Body   any    `json:"body,omitempty"`   // as with SendSQS
	Auth   string `json:"auth,omitempty"`   // names credentials of the worker
}

// HTTPAnswer is what it answers; 408, 429 and 5xx are no answers but errors.
type HTTPAnswer struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// Activity is an activity that jobs and workflows of one's own may call, with its
// input and its output. As with workflows, its input's zero value has the defaults.
type Activity[In, Out any] struct{ Name string }

// Execute calls the activity from a workflow, under the activity options of ctx:
// those of package activities are made for it (CallOptions, TransferOptions).
func (a Activity[In, Out]) Execute(ctx workflow.Context, in In) Future[Out] {
	return Future[Out]{workflow.ExecuteActivity(ctx, a.Name, in)}
}

// Future is the outcome of an activity that may still run.
type Future[Out any] struct{ workflow.Future }

// Output waits for the activity's end.
func (f Future[Out]) Output(ctx workflow.Context) (out Out, err error) {
	return out, f.Get(ctx, &out)
}

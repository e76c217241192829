// Package iam_test runs every job and activity on one worker, each on tables, streams,
// buckets and queues of its own, and holds the policies of ops/iam to the actions that
// the guard saw there.
package iam_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/internal/wire"
	"sluice/tests/harness"
	"sluice/workflows"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m, "--no-ui")) }

// accessKey is the worker's; what the test itself prepares is done with another.
const accessKey = "AKIAWORKEROFTHETEST"

// A run is a stack with one worker, and the places that jobs were given.
type run struct {
	*harness.Stack
	t      *testing.T
	places []place
}

func newRun(t *testing.T) *run {
	s := harness.Start(t)
	r := &run{Stack: s, t: t}
	payloads := r.give("payloads", "s3", "BUCKET", s.NewBucket())
	s.StartWorker("AWS_ACCESS_KEY_ID="+accessKey, "SLUICE_PAYLOAD_BUCKET="+payloads)
	return r
}

// give makes a place known as that of a policy.
func (r *run) give(policy, service, word, name string) string {
	r.places = append(r.places, place{policy, service, name, word})
	return name
}

func (r *run) table(policy string) string {
	return r.give(policy, "dynamodb", "TABLE", r.NewTable(harness.Table{Read: 100, Write: 100}))
}
func (r *run) stream(policy string) string {
	return r.give(policy, "kinesis", "STREAM", r.NewStream(1))
}
func (r *run) queue(policy string) string {
	url := r.NewQueue(nil)
	r.give(policy, "sqs", "QUEUE", wire.QueueName(url))
	return url
}

// bucket makes one with an object "in/lines" of two records.
func (r *run) bucket(policy string) string {
	name := r.give(policy, "s3", "BUCKET", r.NewBucket())
	r.put(name, "in/lines", "a\nb\n")
	return name
}

func (r *run) put(bucket, key, text string) {
	_, err := r.S3.PutObject(r.t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(text)})
	require.NoError(r.t, err)
}

// start starts a workflow.
func (r *run) start(workflow, id, input string) client.WorkflowRun {
	r.t.Helper()
	started, err := r.Client.ExecuteWorkflow(r.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: r.TaskQueue}, workflow, json.RawMessage(input))
	require.NoError(r.t, err)
	return started
}

// runJobs runs activities as the jobs of a request, each after the one before it.
func (r *run) runJobs(jobs [][2]string) {
	r.t.Helper()
	list := make([]map[string]any, len(jobs))
	for i, job := range jobs {
		list[i] = map[string]any{"id": fmt.Sprintf("j%d", i), "activity": job[0], "input": json.RawMessage(job[1]), "heartbeat": "15s"}
	}
	raw, err := json.Marshal(map[string]any{"jobs": list})
	require.NoError(r.t, err)
	id := r.Name("jobs")
	if err := r.start(workflows.TypeRequest, id, string(raw)).Get(r.t.Context(), nil); err != nil {
		r.t.Fatalf("%v\n%s", err, r.Starter("request", "log", id).Stdout)
	}
}

// onTables are all operations on DynamoDB.
func (r *run) onTables() (jobs [][2]string) {
	indexed := harness.Table{Read: 100, Write: 100, Indexes: []types.GlobalSecondaryIndex{index("place")}}
	add := func(operation, input string, more ...any) {
		jobs = append(jobs, [2]string{"DynamoDB." + operation, fmt.Sprintf(input, more...)})
	}
	for operation, rest := range map[string]string{
		"GetItem": `,"Key":{"id":{"S":"1"}}`, "PutItem": `,"Item":{"id":{"S":"1"}}`, "DeleteItem": `,"Key":{"id":{"S":"1"}}`,
		"UpdateItem": `,"Key":{"id":{"S":"1"}},"UpdateExpression":"REMOVE a"`, "DescribeTable": "", "DeleteTable": "",
	} {
		add(operation, `{"TableName":%q`+rest+`}`, r.table("DynamoDB."+operation))
	}
	for _, operation := range []string{"Query", "Scan"} {
		condition := map[string]string{"Query": `,"KeyConditionExpression":"%s = :v","ExpressionAttributeValues":{":v":{"S":"1"}}`, "Scan": ""}[operation]
		table := r.give("DynamoDB."+operation, "dynamodb", "TABLE", r.NewTable(indexed))
		add(operation, `{"TableName":%q`+strings.ReplaceAll(condition, "%s", "id")+`}`, table)
		add(operation, `{"TableName":%q,"IndexName":"place"`+strings.ReplaceAll(condition, "%s", "place")+`}`, table)
	}
	add("BatchGetItem", `{"RequestItems":{%q:{"Keys":[{"id":{"S":"1"}}]}}}`, r.table("DynamoDB.BatchGetItem"))
	add("BatchWriteItem", `{"RequestItems":{%q:[{"PutRequest":{"Item":{"id":{"S":"1"}}}}]}}`, r.table("DynamoDB.BatchWriteItem"))
	add("TransactGetItems", `{"TransactItems":[{"Get":{"TableName":%q,"Key":{"id":{"S":"1"}}}}]}`, r.table("DynamoDB.TransactGetItems"))
	add("TransactWriteItems", `{"TransactItems":[{"Put":{"TableName":%[1]q,"Item":{"id":{"S":"1"}}}},
		{"Update":{"TableName":%[1]q,"Key":{"id":{"S":"2"}},"UpdateExpression":"SET a = :a","ExpressionAttributeValues":{":a":{"S":"1"}}}},
		{"Delete":{"TableName":%[1]q,"Key":{"id":{"S":"3"}}}},
		{"ConditionCheck":{"TableName":%[1]q,"Key":{"id":{"S":"4"}},"ConditionExpression":"attribute_not_exists(id)"}}]}`, r.table("DynamoDB.TransactWriteItems"))
	add("ListTables", `{}`)
	return jobs
}

func index(attribute string) types.GlobalSecondaryIndex {
	units := int64(100)
	return types.GlobalSecondaryIndex{
		IndexName: &attribute, KeySchema: []types.KeySchemaElement{{AttributeName: &attribute, KeyType: types.KeyTypeHash}},
		Projection:            &types.Projection{ProjectionType: types.ProjectionTypeAll},
		ProvisionedThroughput: &types.ProvisionedThroughput{ReadCapacityUnits: &units, WriteCapacityUnits: &units},
	}
}

// makesTables makes a table and changes one, and waits until they can be used.
func (r *run) makesTables() {
	until := func(command, input string) {
		r.Starter("dynamodb", command, "--until-active", "--wait", "--cli-input-json", input).OK(r.t)
	}
	until("create-table", fmt.Sprintf(`{"TableName":%q,"AttributeDefinitions":[{"AttributeName":"id","AttributeType":"S"}],
		"KeySchema":[{"AttributeName":"id","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST"}`, r.give("DynamoDB.CreateTable", "dynamodb", "TABLE", r.Name("made"))))
	until("update-table", fmt.Sprintf(`{"TableName":%q,"ProvisionedThroughput":{"ReadCapacityUnits":50,"WriteCapacityUnits":50}}`, r.table("DynamoDB.UpdateTable")))
}

// onOthers are the activities on streams, objects and messages. One record has no key, so
// that it is a dead letter.
func (r *run) onOthers() (jobs [][2]string) {
	add := func(activity, input string, more ...any) {
		jobs = append(jobs, [2]string{activity, fmt.Sprintf(input, more...)})
	}
	stream := r.stream("Kinesis.PutRecords")
	described, err := r.Kinesis.DescribeStreamSummary(r.t.Context(), &kinesis.DescribeStreamSummaryInput{StreamName: &stream})
	require.NoError(r.t, err)
	add("Kinesis.PutRecords", `{"StreamName":%q,"Records":[{"Data":"YQ==","PartitionKey":"k"}]}`, stream)
	add("Kinesis.PutRecords", `{"StreamARN":%q,"Records":[{"Data":"YQ==","PartitionKey":"k"}]}`, *described.StreamDescriptionSummary.StreamARN)
	for _, to := range []string{fmt.Sprintf(`{"bucket":%q,"prefix":"dead/"}`, r.give("dead-letters", "s3", "BUCKET", r.NewBucket())), fmt.Sprintf(`{"queueUrl":%q}`, r.queue("dead-letters"))} {
		add("Kinesis.PutRecords", `{"StreamName":%q,"DeadLetter":%s,"Records":[{"Data":"YQ==","PartitionKey":""}]}`, stream, to)
	}
	add("Kinesis.PutObject", `{"StreamName":%q,"Object":{"bucket":%q,"key":"in/lines"}}`, r.stream("Kinesis.PutObject"), r.bucket("Kinesis.PutObject"))
	add("S3.Describe", `{"bucket":%q,"key":"in/lines"}`, r.bucket("S3.Describe"))
	add("S3.List", `{"bucket":%q,"prefix":"in/"}`, r.bucket("S3.List"))
	add("SQS.Send", `{"queueUrl":%q,"body":"hello"}`, r.queue("SQS.Send"))
	return jobs
}

// carries takes a payload of half a MiB through an object, there and back.
func (r *run) carries() {
	table, large := r.give("DynamoDB.Scan", "dynamodb", "TABLE", r.NewTable(harness.Table{})), strings.Repeat("x", 300<<10)
	for i := range 2 {
		item := map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: fmt.Sprint(i)}, "text": &types.AttributeValueMemberS{Value: large}}
		_, err := r.DynamoDB.PutItem(r.t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item})
		require.NoError(r.t, err)
	}
	scanned := r.start(workflows.TypeRequest, r.Name("large"), fmt.Sprintf(`{"jobs":[{"id":"scan","activity":"DynamoDB.Scan","input":{"TableName":%q}}]}`, table))
	require.ErrorContains(r.t, scanned.Get(r.t.Context(), nil), "Externally stored payload", "the test itself can't read it")
}

// watches watches a table by itself and together with others, a bucket, and a queue.
func (r *run) watches() (started []client.WorkflowRun) {
	watch := func(source string) {
		started = append(started, r.start(workflows.TypeQuiescence, r.Name("watch"),
			`{"source":`+source+`,"repeats":3,"minRecords":0,"delay":{"base":"500ms","min":"500ms"}}`))
	}
	alone, together := r.table("Quiescence.dynamodb"), r.table("Quiescence.dynamodb")
	watch(fmt.Sprintf(`{"dynamodb":{"table":%q,"key":{"id":{"S":"1"}}}}`, alone))
	for i := range 5 {
		watch(fmt.Sprintf(`{"dynamodb":{"table":%q,"key":{"id":{"S":"%d"}}}}`, together, i))
	}
	watch(fmt.Sprintf(`{"s3":{"bucket":%q,"prefix":"in/"}}`, r.bucket("Quiescence.s3")))
	watch(fmt.Sprintf(`{"sqs":{"queueUrl":%q}}`, r.queue("Quiescence.sqs")))
	return started
}

// counts counts what a delivery's bucket announces.
func (r *run) counts() (stop func()) {
	d := r.Deliver(1, "1s")
	r.give("CountObjects", "sqs", "QUEUE", wire.QueueName(d.Notifications))
	counter := r.start(workflows.TypeCountObjects, r.Name("count"), fmt.Sprintf(`{"queueUrl":%q,"table":%q}`, d.Notifications, r.table("CountObjects")))
	r.put(d.Bucket, "a", "a")
	return func() {
		harness.Await(r.t, "an object is counted", func(ctx context.Context) error {
			answer, err := r.Client.QueryWorkflow(ctx, counter.GetID(), "", "status")
			var status struct{ Events int }
			if err == nil {
				err = answer.Get(&status)
			}
			if err == nil && status.Events == 0 {
				err = errors.New("not yet")
			}
			return err
		})
		require.NoError(r.t, r.Client.SignalWorkflow(r.t.Context(), counter.GetID(), "", "stop", json.RawMessage(`{}`)))
	}
}

// ingests runs the main job on one object.
func (r *run) ingests() client.WorkflowRun {
	const policy = "Ingest"
	d := r.Deliver(1, "1s")
	r.give(policy, "kinesis", "STREAM", d.Stream)
	r.give(policy, "sqs", "NOTIFICATIONS", wire.QueueName(d.Notifications))
	r.give(policy, "s3", "DELIVERY_BUCKET", d.Bucket)
	bucket := r.give(policy, "s3", "BUCKET", r.NewBucket())
	r.give(policy, "s3", "BUCKET/PREFIX", bucket+"/in")
	reports := r.give(policy, "s3", "REPORT_BUCKET", r.NewBucket())
	r.give(policy, "s3", "REPORT_BUCKET/reports", reports+"/reports")
	r.put(bucket, "in/lines", "a\nb\n")
	queue := r.Name("tasks")
	r.NewAzureQueue(queue)
	return r.start(workflows.TypeIngest, r.Name("ingest"), fmt.Sprintf(`{"bucket":%q,"prefix":"in/","queue":%q,"stream":%q,"table":%q,
		"delivery":{"bucket":%q,"notifications":%q},"report":{"bucket":%q,"prefix":"reports/"},
		"quiet":{"repeats":3,"delay":{"base":"1s"}},"deadline":"5m"}`, bucket, queue, d.Stream, r.table(policy), d.Bucket, d.Notifications, reports))
}

// produces puts a record through a Producer.
func (r *run) produces() {
	stream := r.stream("Producer")
	r.Starter("producer", "run", stream).OK(r.t)
	r.StarterWith(`[{"Data":"YQ==","PartitionKey":"k"}]`, "producer", "add", stream, "-f", "-").OK(r.t)
	r.Starter("producer", "flush", stream).OK(r.t)
	r.Starter("producer", "stop", stream).OK(r.t)
}

func (r *run) diagnoses() {
	const policy = "doctor"
	r.Starter("doctor", "--table", r.table(policy), "--stream", r.stream(policy), "--bucket", r.bucket(policy), "--queue-url", r.queue(policy))
}

// Each policy of ops/iam allows what its job calls, and nothing that it does not.
func TestPoliciesAllowExactlyWhatJobsCall(t *testing.T) {
	r := newRun(t)
	counted, ingested, watched := r.counts(), r.ingests(), r.watches()
	r.runJobs(append(r.onTables(), r.onOthers()...))
	r.makesTables()
	r.carries()
	r.produces()
	r.diagnoses()
	counted()
	for _, w := range append(watched, ingested) {
		require.NoError(t, w.Get(t.Context(), nil))
	}
	called := allowed(r.Guard.Actions(t, accessKey), r.places)
	compare(t, called)
	compareKeys(t, called)
}

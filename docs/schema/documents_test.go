package schema

import (
	"reflect"

	"sluice"
	"sluice/workflows"
	"sluice/workflows/claimtasks"
	"sluice/workflows/countobjects"
	"sluice/workflows/ingest"
	"sluice/workflows/producer"
	"sluice/workflows/quiescence"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
	"sluice/workflows/task"
)

// inputs are what Sluice decodes: strictly, null being as good as absent.
var inputs = map[string]any{
	"request": workflows.RequestInput{}, "request.suspend": workflows.SuspendMessage{}, "request.resume": workflows.ResumeMessage{},
	"request.stop": workflows.StopMessage{}, "request.claim": workflows.ClaimMessage{}, "request.unclaim": workflows.UnclaimMessage{},
	"request.status.query": workflows.Page{}, "request.log.query": workflows.LogPage{},
	"resumer": workflows.ResumeSuspendedInput{},

	"producer": workflows.ProducerInput{}, "producer.add": workflows.AddMessage{}, "producer.flush": workflows.FlushMessage{},

	"throughput": workflows.ThroughputInput{}, "throughput.pause": workflows.PauseMessage{}, "throughput.unpause": workflows.PauseMessage{},
	"throughput.set": workflows.SetMessage{}, "throughput.lease": workflows.LeaseMessage{}, "throughput.release": workflows.ReleaseMessage{},

	"quiescence": workflows.QuiescenceInput{}, "quiescence.tune": workflows.TuneMessage{}, "quiescence.finish": workflows.FinishMessage{},
	"quiescence.stop": workflows.FinishMessage{}, "quiescence.observed": workflows.ObservedMessage{},
	"count": workflows.CountObjectsInput{}, "count.drain": workflows.DrainMessage{},

	"claim": workflows.ClaimTasksInput{}, "claim.capacity": workflows.CapacityMessage{}, "claim.drain": workflows.DrainMessage{},
	"ingest": workflows.IngestInput{},

	"kinesis.put-records": workflows.PutRecordsInput{}, "kinesis.put-object": workflows.PutObjectInput{},
	"s3.describe": workflows.DescribeObjectInput{}, "s3.list": workflows.ListObjectsInput{}, "sqs.send": workflows.SendSQSInput{},
	"azurequeue.send": workflows.SendAzureQueueInput{}, "http.call": workflows.CallHTTPInput{},
}

// outputs are what Sluice answers. Later versions may add members.
var outputs = map[string]any{
	"request.result": request.Result{}, "request.status": request.Status{}, "request.log": []request.Entry{}, "request.claim.answer": request.ClaimAnswer{},
	"resumer.result": resumer.Result{}, "resumer.status": resumer.Status{},
	"producer.status": producer.Status{}, "producer.events": []producer.Event{}, "producer.add.answer": producer.AddAnswer{}, "producer.flush.answer": producer.FlushAnswer{},
	"throughput.status": sluice.ThroughputState{}, "throughput.lease.answer": sluice.LeaseAnswer{},
	"quiescence.result": quiescence.Result{}, "quiescence.status": quiescence.Status{},
	"count.status": countobjects.Status{}, "claim.status": claimtasks.Status{}, "task.status": task.Status{},
	"ingest.result": ingest.Result{}, "ingest.status": ingest.Status{},
	"kinesis.output": workflows.PutOutput{}, "s3.describe.output": workflows.DescribedObject{}, "s3.list.output": workflows.ListedObjects{},
	"send.output": workflows.SentMessage{}, "http.call.output": workflows.HTTPAnswer{},
}

// rules are what a schema can say of a field beyond its type, by type and field as
// the document spells it.
var rules = map[string]map[string]any{
	"RequestInput.jobs":            {"minItems": 1, "maxItems": 10000},
	"RequestInput.maxParallelJobs": {"minimum": 0, "maximum": 1000},
	"RequestInput.args":            {"type": []string{"object", "array", "string", "number", "boolean", "null"}},
	"Job.id":                       {"pattern": `^[A-Za-z0-9_.-]{1,100}$`},
	"Job.retry":                    {"minimum": 0},
	"Job.priority":                 {"minimum": 1, "maximum": 5},
	"Page.offset":                  {"minimum": 0},
	"Page.limit":                   {"minimum": 0, "maximum": 2000},
	"ProducerInput.batchSize":      {"minimum": 1, "maximum": 500},
	"ProducerInput.ordering":       {"enum": []any{"key", "none", nil}},
	"Delay.strategy":               {"enum": []any{"constant", "inverse", "exponential", nil}},
	"S3Source.onDelete":            {"enum": []any{"reset", "ignore", "fail", nil}},
	"CountObjectsInput.key":        {"enum": []any{"bucket", "prefix", nil}},
	"ClaimTasksInput.capacity":     {"minimum": 1, "maximum": 1000},
	"CapacityMessage.capacity":     {"minimum": 1, "maximum": 1000},
	"IngestInput.format":           {"enum": []any{"lines", "json-array", "csv", nil}},
}

// choices are types of which exactly one of these members is given.
var choices = map[string][]string{
	"Job":    {"activity", "workflow"},
	"Source": {"dynamodb", "s3", "sqs", "activity", "signal"},
	"Then":   {"http", "workflow", "activity", "signal"},
}

// lengths are the fields that are durations. A deadline is one too, or an instant.
var lengths = map[string]bool{
	"grace": true, "ttl": true, "wait": true, "lease": true, "suspendTTL": true, "retryWait": true, "timeout": true, "heartbeat": true,
	"interval": true, "maxInterval": true, "visibilityTimeout": true, "refreshBefore": true, "reclaimBefore": true, "base": true, "min": true,
	"max": true, "quietFor": true, "startTimeout": true, "watch": true, "for": true, "delay": true, "flushInterval": true,
}

// lengthPattern is a duration in Go's form; "" is the default.
const lengthPattern = `^\s*$|^\s*[-+]?(0|([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+\s*$`

// named is a document with its type.
type named struct {
	name  string
	value reflect.Type
	input bool
}

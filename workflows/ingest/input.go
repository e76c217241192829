package ingest

import (
	"encoding/json"
	"strings"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/limits"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Input is the input of Ingest.
type Input struct {
	Bucket   string            `json:"bucket" doc:"required"`
	Prefix   string            `json:"prefix"`
	Queue    string            `json:"queue" doc:"required"`    // Azure queue
	Stream   string            `json:"stream" doc:"required"`   // Kinesis stream
	Table    string            `json:"table" doc:"required"`    // DynamoDB table, string hash key "id"
	Delivery Delivery          `json:"delivery" doc:"required"` // where the stream lands
	Report   Report            `json:"report"`
	Format   string            `json:"format"`   // lines, json-array or csv
	Capacity int               `json:"capacity"` // tasks running at once
	Quiet    Quiet             `json:"quiet"`
	Deadline duration.Deadline `json:"deadline"`
}

// Delivery tells where what delivers the stream writes and announces its
// objects.
type Delivery struct {
	Bucket        string `json:"bucket" doc:"required"`
	Prefix        string `json:"prefix"`
	Notifications string `json:"notifications" doc:"required"` // SQS queue URL
}

// Report tells where the comparison is written.
type Report struct {
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix"`
}

// Quiet is the rule by which the delivery counts as quiet, as in the input
// of Quiescence.
type Quiet struct {
	Repeats  int               `json:"repeats"`
	Delay    Delay             `json:"delay"`
	QuietFor duration.Duration `json:"quietFor"`
}

// Delay is the time between two looks.
type Delay struct {
	Strategy string            `json:"strategy"`
	Base     duration.Duration `json:"base"`
	Min      duration.Duration `json:"min"`
	Max      duration.Duration `json:"max"`
}

func defaultInput() Input {
	seconds := func(n int) duration.Duration { return duration.Duration(n * 1e9) }
	return Input{
		Report:   Report{Prefix: "reports/"},
		Format:   "lines",
		Capacity: 10,
		Quiet: Quiet{
			Repeats: 3,
			Delay:   Delay{Strategy: "constant", Base: seconds(10), Min: seconds(1)},
		},
		Deadline: duration.DeadlineAfter(seconds(2 * 60 * 60)),
	}
}

// CheckInput tells what is wrong with the input of a new run of that ID, as the run
// would.
func CheckInput(id string, raw json.RawMessage) error {
	in := defaultInput()
	return shell.CheckInput(wire.TypeIngest, id, raw, &in)
}

// Check reports what values can't mean; the quiet rule is checked in full by
// Quiescence's own rules.
func (in *Input) Check(faults *document.Faults) {
	if in.Report.Bucket == "" {
		in.Report.Bucket = in.Bucket
	}
	for _, f := range []struct{ path, value string }{
		{"bucket", in.Bucket}, {"queue", in.Queue}, {"stream", in.Stream}, {"table", in.Table},
		{"delivery.bucket", in.Delivery.Bucket}, {"delivery.notifications", in.Delivery.Notifications},
	} {
		if f.value == "" && !faults.Has(f.path) && !faults.Has(document.Parent(f.path)) {
			faults.Add(f.path, "must not be empty")
		}
	}
	limits.CheckAttribute(faults, "bucket", in.Bucket)
	limits.CheckAttribute(faults, "table", in.Table) // of the watch
	limits.CheckID(faults, "delivery.notifications", wire.CountID(in.Delivery.Notifications), "")
	if in.Capacity < 1 || in.Capacity > 1000 {
		faults.Add("capacity", "must be between 1 and 1000, not %d", in.Capacity)
	}
	switch in.Format {
	case "lines", "json-array", "csv":
	default:
		faults.Add("format", "must be \"lines\", \"json-array\" or \"csv\", not %q", in.Format)
	}
	if url := in.Delivery.Notifications; url != "" && !strings.Contains(url, "://") {
		faults.Add("delivery.notifications", "must be the URL of an SQS queue, not %q", url)
	}
	if in.Quiet.Repeats < 1 {
		faults.Add("quiet.repeats", "must be at least 1, not %d", in.Quiet.Repeats)
	}
	if in.Quiet.Delay.Base <= 0 {
		faults.Add("quiet.delay.base", "must be longer than 0s")
	}
	switch in.Quiet.Delay.Strategy {
	case "constant", "inverse", "exponential":
	default:
		faults.Add("quiet.delay.strategy", "must be \"constant\", \"inverse\" or \"exponential\", not %q", in.Quiet.Delay.Strategy)
	}
	for _, check := range []func(string) error{taskmessage.CheckQueueName, taskmessage.CheckPoisonedBy} {
		if err := check(in.Queue); err != nil && !faults.Has("queue") {
			faults.Add("queue", "%v", err)
		}
	}
}

// CheckID sees to it that the IDs fit that are made of the ingestion's own: those of
// its watches, which are longer than its claimer's.
func (in *Input) CheckID(faults *document.Faults, id string) {
	limits.CheckID(faults, "workflow ID", id, wire.IngestWatchID("", limits.MostNumber))
}

// plan is the input as the activities need it.
func (in Input) plan(id, run string) wire.IngestPlan {
	return wire.IngestPlan{
		Workflow: id, Run: run,
		Bucket: in.Bucket, Prefix: in.Prefix, Format: in.Format,
		Queue: in.Queue, Stream: in.Stream, Table: in.Table,
		DeliveryBucket: in.Delivery.Bucket, DeliveryPrefix: in.Delivery.Prefix, Notifications: in.Delivery.Notifications,
		ReportBucket: in.Report.Bucket, ReportPrefix: in.Report.Prefix,
	}
}

// claimInput is the input of the claimer.
func (in Input) claimInput() map[string]any {
	return map[string]any{
		"queues":   []map[string]string{{"name": in.Queue}},
		"capacity": in.Capacity,
		// A worker that dies between receiving a message and starting its task
		// gives it back after this time.
		"visibilityTimeout": "30s",
		"interval":          "1s", "maxInterval": "5s",
	}
}

// quiescenceInput is the input of the observer of one generation: the counter of
// the delivery bucket, as CountObjects keeps it. It may fall quiet without a
// single object, since all source objects may be empty; when that is too early
// the comparison says so.
func (in Input) quiescenceInput(deadline string) map[string]any {
	return map[string]any{
		"source": map[string]any{"dynamodb": map[string]any{
			"table": in.Table,
			"key":   map[string]any{"id": map[string]string{"S": in.Delivery.Bucket}},
		}},
		"repeats": in.Quiet.Repeats, "delay": in.Quiet.Delay, "quietFor": in.Quiet.QuietFor,
		"minRecords": 0, "deadline": deadline,
	}
}

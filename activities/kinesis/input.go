package kinesis

import (
	"encoding/json"
	"regexp"

	"sluice/internal/document"
	"sluice/internal/wire"
)

// PutRecordsInput is the input of Kinesis.PutRecords: StreamName or StreamARN,
// and Records, as AWS has them, and Sluice's own fields.
type PutRecordsInput struct {
	Destination
	Records json.RawMessage `json:"Records" doc:"required"`
}

// Destination is how records go to a stream.
type Destination struct {
	StreamName  string     `json:"StreamName"`
	StreamARN   string     `json:"StreamARN"`
	Ordering    string     `json:"Ordering"`    // "none" or "key"
	MaxAttempts int        `json:"MaxAttempts"` // a record; then it has failed
	Aggregate   bool       `json:"Aggregate"`   // in the Kinesis Producer Library's record format
	OnFailed    string     `json:"OnFailed"`    // "report" or "fail"
	DeadLetter  DeadLetter `json:"DeadLetter"`  // where failed records are written; empty: nowhere
}

// DeadLetter is where failed records are written: a bucket or a queue.
type DeadLetter struct {
	Bucket   string `json:"bucket"`
	Prefix   string `json:"prefix"`
	QueueURL string `json:"queueUrl"`
}

// on says whether failed records are written anywhere.
func (d DeadLetter) on() bool { return d.Bucket != "" || d.QueueURL != "" }

func defaultDestination() Destination {
	return Destination{Ordering: wire.OrderingNone, MaxAttempts: 10, OnFailed: "report"}
}

func (d *Destination) stream() streamName { return streamName{d.StreamName, d.StreamARN} }

var (
	streamNames = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,128}$`)
	streamARNs  = regexp.MustCompile(`^arn:aws[^:]*:kinesis:[^:]*:\d{12}:stream/[a-zA-Z0-9_.-]{1,128}$`)
)

// Check adds what is wrong with the destination.
func (d *Destination) Check(faults *document.Faults) {
	switch {
	case d.StreamName == "" && d.StreamARN == "":
		faults.Add("StreamName", "StreamName or StreamARN is required")
	case d.StreamName != "" && !streamNames.MatchString(d.StreamName):
		faults.Add("StreamName", "%q is not a stream name of 1 to 128 letters, digits, _ . and -", d.StreamName)
	case d.StreamARN != "" && !streamARNs.MatchString(d.StreamARN):
		faults.Add("StreamARN", "%q is not a stream's ARN", d.StreamARN)
	}
	if d.Ordering != wire.OrderingNone && d.Ordering != wire.OrderingKey {
		faults.Add("Ordering", `must be "none" or "key", not %q`, d.Ordering)
	}
	if d.MaxAttempts < 1 || d.MaxAttempts > 1_000_000 {
		faults.Add("MaxAttempts", "must be 1 to 1,000,000, not %d", d.MaxAttempts)
	}
	if d.OnFailed != "report" && d.OnFailed != "fail" {
		faults.Add("OnFailed", `must be "report" or "fail", not %q`, d.OnFailed)
	}
	if d.DeadLetter.Bucket != "" && d.DeadLetter.QueueURL != "" {
		faults.Add("DeadLetter", "bucket or queueUrl, not both")
	}
	if d.DeadLetter.Prefix != "" && d.DeadLetter.Bucket == "" {
		faults.Add("DeadLetter.prefix", "needs a bucket")
	}
}

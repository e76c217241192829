package wire

import (
	"encoding/json"

	"sluice/internal/document"
	"sluice/internal/limits"
)

// Source names what is watched: exactly one of its fields is set. A new source is
// a field here and a file beside this one.
type Source struct {
	DynamoDB *DynamoDBSource `json:"dynamodb,omitempty"`
	S3       *S3Source       `json:"s3,omitempty"`
	SQS      *SQSSource      `json:"sqs,omitempty"`
	Activity *ActivitySource `json:"activity,omitempty"`
	Signal   *SignalSource   `json:"signal,omitempty"`
}

// SignalSource is a target that tells of its changes itself, by the signal
// `observed`. The workflow needs no polls for it.
type SignalSource struct{}

// sourceKind is one of the fields of Source.
type sourceKind interface {
	check(faults *document.Faults, path string)
	target() string
}

type namedKind struct {
	name string
	sourceKind
}

// kinds lists the fields that are set, under their names.
func (s Source) kinds() []namedKind {
	var set []namedKind
	add := func(name string, is bool, kind sourceKind) {
		if is {
			set = append(set, namedKind{name, kind})
		}
	}
	add("dynamodb", s.DynamoDB != nil, s.DynamoDB)
	add("s3", s.S3 != nil, s.S3)
	add("sqs", s.SQS != nil, s.SQS)
	add("activity", s.Activity != nil, s.Activity)
	add("signal", s.Signal != nil, s.Signal)
	return set
}

// kind returns the field that is set, or nil.
func (s Source) kind() sourceKind {
	if set := s.kinds(); len(set) > 0 {
		return set[0].sourceKind
	}
	return nil
}

// Check adds the faults of a source found at path. That there are too many, or
// none, hides no fault of those that are there.
func (s Source) Check(faults *document.Faults, path string) {
	set := s.kinds()
	// A fault here may be the one that was meant, misspelt.
	if len(set) > 1 || len(set) == 0 && !faults.Has(path) {
		faults.Add(path, "exactly one of dynamodb, s3, sqs, activity, signal, not %d of them", len(set))
	}
	for _, k := range set {
		k.check(faults, document.Join(path, k.name))
		limits.CheckAttribute(faults, document.Join(path, k.name), k.target())
	}
}

// Target is what is watched, for people: a table, bucket, queue or activity.
func (s Source) Target() string {
	if kind := s.kind(); kind != nil {
		return kind.target()
	}
	return ""
}

func (*SignalSource) check(*document.Faults, string) {}

func (*SignalSource) target() string { return "signal" }

// DynamoDBSource is an item, such as the counter that CountObjects keeps. Any
// change of the item is a change; a number attribute of it is the count. As long
// as there is no such item nothing was started.
type DynamoDBSource struct {
	Table     string          `json:"table" doc:"required"`
	Key       json.RawMessage `json:"key" doc:"required"` // as DynamoDB has it: {"id":{"S":"x"}}
	Attribute string          `json:"attribute"`
}

// SetDefaults names the attribute of CountObjects.
func (s *DynamoDBSource) SetDefaults() { s.Attribute = "num_records" }

func (s *DynamoDBSource) check(faults *document.Faults, path string) {
	if s.Table == "" && !faults.Has(path+".table") {
		faults.Add(path+".table", "empty")
	}
	var key map[string]map[string]any
	if len(s.Key) > 0 && (json.Unmarshal(s.Key, &key) != nil || len(key) == 0) {
		faults.Add(path+".key", `not a key as DynamoDB has it, such as {"id":{"S":"x"}}`)
	}
	if s.Attribute == "" {
		faults.Add(path+".attribute", "empty")
	}
}

func (s *DynamoDBSource) target() string { return s.Table }

// S3Source is all objects under a prefix: identity, version and size of each.
type S3Source struct {
	Bucket string `json:"bucket" doc:"required"`
	Prefix string `json:"prefix"`
	// IgnoreEmpty passes over objects without content, which tools create before
	// they fill them or as markers of folders.
	IgnoreEmpty bool   `json:"ignoreEmpty"`
	OnDelete    string `json:"onDelete"`
}

// SetDefaults fills in what the contract has.
func (s *S3Source) SetDefaults() { s.IgnoreEmpty, s.OnDelete = true, OnDeleteReset }

func (s *S3Source) check(faults *document.Faults, path string) {
	if s.Bucket == "" && !faults.Has(path+".bucket") {
		faults.Add(path+".bucket", "empty")
	}
	switch s.OnDelete {
	case OnDeleteReset, OnDeleteIgnore, OnDeleteFail:
	default:
		faults.Add(path+".onDelete", "%q is none of %q, %q, %q", s.OnDelete, OnDeleteReset, OnDeleteIgnore, OnDeleteFail)
	}
}

func (s *S3Source) target() string { return s.Bucket }

// SQSSource is a queue's backlog: what is visible, in flight and delayed. It is
// quiet at 0.
type SQSSource struct {
	QueueURL string `json:"queueUrl" doc:"required"`
}

func (s *SQSSource) check(faults *document.Faults, path string) {
	if s.QueueURL == "" && !faults.Has(path+".queueUrl") {
		faults.Add(path+".queueUrl", "empty")
	}
}

func (s *SQSSource) target() string { return QueueName(s.QueueURL) }

// ActivitySource is anything that an activity, in any language, can tell the
// version and the count of.
type ActivitySource struct {
	Name      string          `json:"name" doc:"required"`
	Input     json.RawMessage `json:"input"`
	TaskQueue string          `json:"taskQueue"`
}

// Check adds the faults of a source that stands alone, as the input of a poll.
func (s *ActivitySource) Check(faults *document.Faults) { s.check(faults, "") }

func (s *ActivitySource) check(faults *document.Faults, path string) {
	name := document.Join(path, "name")
	if s.Name == "" && !faults.Has(name) {
		faults.Add(name, "empty")
	}
	limits.CheckName(faults, name, s.Name)
	limits.CheckTaskQueue(faults, document.Join(path, "taskQueue"), s.TaskQueue)
}

func (s *ActivitySource) target() string { return s.Name }

// What the s3 source makes of an object that is gone.
const (
	OnDeleteReset  = "reset"  // a change like any other
	OnDeleteIgnore = "ignore" // no change
	OnDeleteFail   = "fail"   // the watch fails with Conflict
)

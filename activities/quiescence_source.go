package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/activity"

	"sluice/internal/document"
	"sluice/internal/quiescence"
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

type namedKind struct {
	name string
	sourceKind
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
	}
}

// Target is what is watched, for people: a table, bucket, queue or activity.
func (s Source) Target() string {
	if kind := s.kind(); kind != nil {
		return kind.target()
	}
	return ""
}

// source makes what is watched ready to be polled, going on from what was seen.
func (q *Quiescence) source(ctx context.Context, s Source, seen quiescence.State) (pollSource, error) {
	switch {
	case s.DynamoDB != nil:
		return &itemPoll{items: q.Items, table: s.DynamoDB.Table, key: s.DynamoDB.Key, attribute: s.DynamoDB.Attribute}, nil
	case s.S3 != nil:
		return &listing{lister: q.S3, source: *s.S3, deletions: deletions{carried: seen}}, nil
	case s.SQS != nil:
		return &queuePoll{meter: q.SQS, url: s.SQS.QueueURL}, nil
	case s.Activity != nil:
		info := activity.GetInfo(ctx)
		return &activityPoll{temporal: q.Temporal, id: info.WorkflowExecution.ID + "/poll", queue: info.TaskQueue, source: *s.Activity}, nil
	case s.Signal != nil:
		return nil, Invalid(WatchQuiescence, errors.New("source.signal: is not polled"))
	default:
		return nil, Invalid(WatchQuiescence, errors.New("source: none is given"))
	}
}

func (*SignalSource) check(*document.Faults, string) {}
func (*SignalSource) target() string                 { return "signal" }

// canonical writes JSON so that equal documents read equal: members sorted, the
// elements of DynamoDB's sets too.
func canonical(raw json.RawMessage) (string, error) {
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return "", err
	}
	sortSets(v)
	out, err := json.Marshal(v) // maps are written in the order of their keys
	return string(out), err
}

func sortSets(v any) {
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			if set, ok := value.([]any); ok && (name == "SS" || name == "NS" || name == "BS") {
				slices.SortFunc(set, func(a, b any) int {
					x, y := fmt.Sprint(a), fmt.Sprint(b)
					switch {
					case x < y:
						return -1
					case x > y:
						return 1
					}
					return 0
				})
				continue
			}
			sortSets(value)
		}
	case []any:
		for _, value := range v {
			sortSets(value)
		}
	}
}

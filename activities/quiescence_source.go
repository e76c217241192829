package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

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
	// open makes the source ready to be polled, going on from what was seen.
	open(ctx context.Context, q *Quiescence, seen quiescence.State) (pollSource, error)
}

// kind returns the field that is set, under its name, or nil.
func (s Source) kind() (name string, kind sourceKind) {
	switch {
	case s.DynamoDB != nil:
		return "dynamodb", s.DynamoDB
	case s.S3 != nil:
		return "s3", s.S3
	case s.SQS != nil:
		return "sqs", s.SQS
	case s.Activity != nil:
		return "activity", s.Activity
	case s.Signal != nil:
		return "signal", s.Signal
	}
	return "", nil
}

// Check adds the faults of a source found at path.
func (s Source) Check(faults *document.Faults, path string) {
	set := 0
	for _, is := range []bool{s.DynamoDB != nil, s.S3 != nil, s.SQS != nil, s.Activity != nil, s.Signal != nil} {
		if is {
			set++
		}
	}
	if set != 1 {
		if !faults.Has(path) {
			faults.Add(path, "exactly one of dynamodb, s3, sqs, activity, signal, not %d of them", set)
		}
		return
	}
	name, kind := s.kind()
	kind.check(faults, document.Join(path, name))
}

// Target is what is watched, for people: a table, bucket, queue or activity.
func (s Source) Target() string {
	if _, kind := s.kind(); kind != nil {
		return kind.target()
	}
	return ""
}

func (q *Quiescence) source(ctx context.Context, s Source, seen quiescence.State) (pollSource, error) {
	_, kind := s.kind()
	if kind == nil {
		return nil, Invalid(WatchQuiescence, errors.New("source: none is given"))
	}
	return kind.open(ctx, q, seen)
}

func (*SignalSource) check(*document.Faults, string) {}
func (*SignalSource) target() string                 { return "signal" }
func (*SignalSource) open(context.Context, *Quiescence, quiescence.State) (pollSource, error) {
	return nil, Invalid(WatchQuiescence, errors.New("source.signal: is not polled"))
}

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

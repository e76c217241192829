package quiescence

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/sdk/activity"

	"sluice/activities"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// source makes what is watched ready to be polled, going on from what was seen.
func (q *Activities) source(ctx context.Context, s wire.Source, seen quiescence.State) (pollSource, error) {
	switch {
	case s.DynamoDB != nil:
		return &itemPoll{items: q.Items, table: s.DynamoDB.Table, key: s.DynamoDB.Key, attribute: s.DynamoDB.Attribute}, nil
	case s.S3 != nil:
		return &listing{lister: q.S3, source: *s.S3, deletions: deletions{carried: seen}}, nil
	case s.SQS != nil:
		return &queuePoll{meter: q.SQS, url: s.SQS.QueueURL}, nil
	case s.Activity != nil:
		info := activity.GetInfo(ctx)
		return &activityPoll{temporal: q.Temporal, id: wire.PollID(info.WorkflowExecution.ID), queue: info.TaskQueue, source: *s.Activity}, nil
	case s.Signal != nil:
		return nil, activities.Invalid(wire.WatchQuiescence.Name, errors.New("source.signal: is not polled"))
	default:
		return nil, activities.Invalid(wire.WatchQuiescence.Name, errors.New("source: none is given"))
	}
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

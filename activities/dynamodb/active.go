package dynamodb

import (
	"context"
	"encoding/json"
	"time"

	"go.temporal.io/sdk/activity"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

const (
	activeAgain = 2 * time.Second // between two looks at a table that is not ACTIVE
	// appears is how long a table that was just made may not be there yet for the
	// service's descriptions, which lag behind.
	appears = 30 * time.Second
)

// awaitActive answers the description of a table once it and its indexes are ACTIVE.
// Until then each attempt ends Unavailable, so that the wait is Temporal's. A repeat
// looks again.
func (d *Activities) awaitActive(ctx context.Context, raw json.RawMessage) (json.RawMessage, error) {
	var in wire.AwaitActiveInput
	if err := document.Decode(raw, &in).Err(); err != nil {
		return nil, activities.Invalid(wire.AwaitActive.Name, err)
	}
	alive, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer stop()
	answer, err := d.Call(alive, "DescribeTable", encode(map[string]string{"TableName": in.TableName}, nil), throughput.DefaultPriority)
	young := time.Since(activity.GetInfo(ctx).ScheduledTime) < appears
	if activities.TypeOf(err) == activities.TypeNotFound && young {
		return nil, notActive(in.TableName, "not there yet")
	}
	if err != nil {
		return nil, err
	}
	if status := unready(answer); status != "" {
		return nil, notActive(in.TableName, status)
	}
	return answer, nil
}

// unready is the state that a described table, or an index of it, is in other than
// ACTIVE.
func unready(answer json.RawMessage) string {
	var told struct {
		Table struct {
			TableStatus            string
			GlobalSecondaryIndexes []struct{ IndexName, IndexStatus string }
		}
	}
	if json.Unmarshal(answer, &told) != nil {
		return "described in words that can't be read"
	}
	if told.Table.TableStatus != "ACTIVE" {
		return told.Table.TableStatus
	}
	for _, index := range told.Table.GlobalSecondaryIndexes {
		if index.IndexStatus != "" && index.IndexStatus != "ACTIVE" {
			return "ACTIVE, its index " + index.IndexName + " " + index.IndexStatus
		}
	}
	return ""
}

func notActive(table, status string) error {
	return activities.Fail(activities.TypeUnavailable, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.AwaitActive.Name, Target: table},
		Message:      "the table is " + status,
		Delay:        activeAgain,
	})
}

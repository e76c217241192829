package requests

import (
	"context"
	"encoding/json"

	"go.temporal.io/sdk/converter"

	"sluice/internal/wire"
)

// maxHeartbeats bounds what is read of one request, in bytes: it becomes one event.
const maxHeartbeats = 1 << 20

// ReadHeartbeats reads what running activities have heartbeat last. One that has not,
// or whose heartbeat is no JSON, is left out, and so is what is too much. It changes
// nothing, and runs as a local activity.
func (c *Children) ReadHeartbeats(ctx context.Context, in wire.HeartbeatsInput) (*wire.Heartbeats, error) {
	described, err := c.Temporal.DescribeWorkflow(ctx, in.WorkflowID, in.RunID)
	if err != nil {
		return nil, temporalFailure(wire.ReadHeartbeats.Name, in.WorkflowID, err)
	}
	wanted := make(map[string]bool, len(in.ActivityIDs))
	for _, id := range in.ActivityIDs {
		wanted[id] = true
	}
	dc := c.Converter
	if dc == nil {
		dc = converter.GetDefaultDataConverter()
	}
	read, room := &wire.Heartbeats{ByActivity: map[string]json.RawMessage{}}, maxHeartbeats
	for _, activity := range described.RawResponse.GetPendingActivities() {
		id, details := activity.GetActivityId(), activity.GetHeartbeatDetails()
		var raw json.RawMessage
		if !wanted[id] || len(details.GetPayloads()) == 0 || dc.FromPayloads(details, &raw) != nil || !json.Valid(raw) {
			continue
		}
		if room < len(raw)+len(id) {
			continue
		}
		room -= len(raw) + len(id)
		read.ByActivity[id] = raw
	}
	return read, nil
}

package quiescence

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// activityPollTimeout bounds a poll by an activity, its wait for a worker included.
const activityPollTimeout = 10 * time.Minute

// activityPoll runs the activity in a workflow of its own for each poll, of about
// eleven events, so that the watch's own history stays as short as with any other
// source.
type activityPoll struct {
	temporal client.Client
	id       string
	queue    string
	source   wire.ActivitySource
}

func (p *activityPoll) poll(ctx context.Context) (quiescence.Reading, error) {
	run, err := p.temporal.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID:                 p.id,
		TaskQueue:          p.queue,
		WorkflowRunTimeout: activityPollTimeout,
		// What an earlier attempt of ours left running is no longer waited for.
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING,
		StaticSummary:            "polls " + p.source.Name,
	}, wire.TypePoll, p.source)
	if err != nil {
		return quiescence.Reading{}, fmt.Errorf("%s: %w", p.source.Name, err)
	}
	var raw json.RawMessage
	if err := run.Get(ctx, &raw); err != nil {
		return quiescence.Reading{}, fmt.Errorf("%s: %w", p.source.Name, err)
	}
	return readingOf(p.source.Name, raw)
}

// readingOf reads what the activity answered. Other fields than the two are its
// own business.
func readingOf(name string, raw json.RawMessage) (quiescence.Reading, error) {
	var answer struct {
		Version *json.RawMessage `json:"version"`
		Count   int64            `json:"count"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil || answer.Version == nil {
		return quiescence.Reading{}, fmt.Errorf(`%s: answered something else than {"version":"…","count":n}`, name)
	}
	version, err := canonical(*answer.Version)
	if err != nil {
		return quiescence.Reading{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(version) > 256 {
		version = digestOf(version)
	}
	return quiescence.Reading{Version: version, Count: answer.Count, Present: answer.Count > 0}, nil
}

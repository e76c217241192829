package activities

import (
	"context"
	"encoding/json"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
)

// Handed is what a workflow that owns its retries gives to each try of a job,
// in the activity's header.
type Handed struct {
	// FirstRun names the chain of runs that the try belongs to:
	// "<workflow ID>/<first run ID>", the same after continue-as-new.
	FirstRun string `json:"firstRun,omitempty"`
	// Key is "<job>/<try>": the same for every dispatch of the try, whatever its
	// activity ID.
	Key string `json:"key,omitempty"`
	// Checkpoint is what the try before last heartbeat or ended with; null for
	// the first.
	Checkpoint json.RawMessage `json:"checkpoint,omitempty"`
}

const handedHeader = "sluice-handed"

type handedKey struct{}

// WithHanded makes the activities scheduled under the context carry h.
func WithHanded(ctx workflow.Context, h Handed) workflow.Context {
	return workflow.WithValue(ctx, handedKey{}, h)
}

// Checkpoint reads into v what an earlier try or attempt of this job left: the
// last heartbeat of an earlier attempt of the same activity, else what its
// workflow handed on. It reports whether there was anything.
func Checkpoint(ctx context.Context, v any) (bool, error) {
	if activity.HasHeartbeatDetails(ctx) {
		return true, activity.GetHeartbeatDetails(ctx, v)
	}
	h, _ := ctx.Value(handedKey{}).(Handed)
	if len(h.Checkpoint) == 0 || string(h.Checkpoint) == "null" {
		return false, nil
	}
	return true, json.Unmarshal(h.Checkpoint, v)
}

// FirstRun names the chain of runs that the activity belongs to, as
// "<workflow ID>/<run ID>": handed on by a workflow that continues as new, else
// the run that scheduled it.
func FirstRun(ctx context.Context) string {
	if h, _ := ctx.Value(handedKey{}).(Handed); h.FirstRun != "" {
		return h.FirstRun
	}
	info := activity.GetInfo(ctx)
	return info.WorkflowExecution.ID + "/" + info.WorkflowExecution.RunID
}

// IdempotencyKey is the same for all that is done again of one call, and for no
// other: "<workflow ID>/<first run ID>/<job>/<try>" in a try of a job, else with
// the activity's ID in the place of job and try.
func IdempotencyKey(ctx context.Context) string {
	h, _ := ctx.Value(handedKey{}).(Handed)
	key := h.Key
	if key == "" {
		key = activity.GetInfo(ctx).ActivityID
	}
	return FirstRun(ctx) + "/" + key
}

// ContextPropagator carries Handed from workflows to their activities. The
// checkpoint may hold data, so it goes through the data converter that encrypts
// all other payloads.
func ContextPropagator(dc converter.DataConverter) workflow.ContextPropagator {
	return handedPropagator{dc}
}

type handedPropagator struct{ dc converter.DataConverter }

func (p handedPropagator) InjectFromWorkflow(ctx workflow.Context, w workflow.HeaderWriter) error {
	h, ok := ctx.Value(handedKey{}).(Handed)
	if !ok {
		return nil
	}
	payload, err := p.dc.ToPayload(h)
	if err != nil {
		return err
	}
	w.Set(handedHeader, payload)
	return nil
}

func (p handedPropagator) Extract(ctx context.Context, r workflow.HeaderReader) (context.Context, error) {
	payload, ok := r.Get(handedHeader)
	if !ok {
		return ctx, nil
	}
	h, err := p.decode(payload)
	if err != nil {
		return ctx, err
	}
	return context.WithValue(ctx, handedKey{}, h), nil
}

func (p handedPropagator) decode(payload *commonpb.Payload) (h Handed, err error) {
	err = p.dc.FromPayload(payload, &h)
	return h, err
}

// Inject hands nothing on: a workflow or activity started by an activity is a
// job of its own.
func (handedPropagator) Inject(context.Context, workflow.HeaderWriter) error { return nil }

// ExtractToWorkflow takes nothing in, for the same reason.
func (handedPropagator) ExtractToWorkflow(ctx workflow.Context, _ workflow.HeaderReader) (workflow.Context, error) {
	return ctx, nil
}

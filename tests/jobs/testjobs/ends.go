package testjobs

import (
	"context"
	"encoding/json"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/errortype"
)

// The ways in which Input.Ends has a try's first dispatch end.
const (
	EndsWell     = "success"
	EndsCanceled = "canceled" // with what it has achieved
	EndsPlain    = "plain"    // with ctx.Err()
	EndsFailing  = "error"    // of Input.Type
	EndsLate     = "timeout"  // works on until its time is over
	EndsSilent   = "silent"   // heartbeats no more
	EndsNever    = "never"    // works on until its worker stops
)

// Ended is the output of a try that was told how to end.
type Ended struct {
	From       int    `json:"from"` // the checkpoint that it was handed
	ActivityID string `json:"activityId"`
	Key        string `json:"key"`
	Run        string `json:"run"`
}

// beatStep is how far apart such a dispatch heartbeats.
const beatStep = 400 * time.Millisecond

// reached is the step that a dispatch heartbeats before it ends as told.
const reached = 7

// endAs ends the first dispatch of a try as told, and succeeds in any later one.
func (j *Jobs) endAs(ctx context.Context, in Input, dispatch int) (json.RawMessage, error) {
	var from int
	found, err := activities.Checkpoint(ctx, &from)
	if err != nil {
		return nil, err
	}
	if dispatch > 1 || found {
		return ended(ctx, from)
	}
	activity.RecordHeartbeat(ctx, reached)
	if in.Asked && !beatUntil(ctx, ctx.Done()) {
		return nil, stopping()
	}
	if in.Held && !beatUntil(ctx, j.released(keyOf(ctx))) {
		return nil, stopping()
	}
	info := activity.GetInfo(ctx)
	switch in.Ends {
	case EndsCanceled:
		return nil, temporal.NewCanceledError(reached)
	case EndsPlain:
		if err := ctx.Err(); err != nil {
			return nil, err
		}
	case EndsFailing:
		if errortype.Retryable(in.Type) {
			return nil, activities.Fail(in.Type, activities.Failure{Message: "told to fail", Checkpoint: reached})
		}
		return nil, temporal.NewApplicationErrorWithOptions("told to fail", in.Type, temporal.ApplicationErrorOptions{NonRetryable: in.Final})
	case EndsLate:
		beatUntil(ctx, time.After(time.Until(info.Deadline)+time.Second))
		return nil, stopping()
	case EndsSilent:
		<-time.After(3 * info.HeartbeatTimeout)
		return nil, stopping()
	case EndsNever:
		beatUntil[struct{}](ctx, nil)
		return nil, stopping()
	}
	return ended(ctx, from)
}

func ended(ctx context.Context, from int) (json.RawMessage, error) {
	info := activity.GetInfo(ctx)
	return json.Marshal(Ended{From: from, ActivityID: info.ActivityID, Key: activities.IdempotencyKey(ctx), Run: info.WorkflowExecution.RunID})
}

func stopping() error {
	return activities.Fail(activities.TypeWorkerStopping, activities.Failure{Message: "worker stopping", Checkpoint: reached})
}

// beatUntil heartbeats until the channel is ready, and reports whether that came
// before the worker's end. Heartbeats under a context that is canceled are not sent.
func beatUntil[T any](ctx context.Context, ready <-chan T) bool {
	for {
		activity.RecordHeartbeat(context.WithoutCancel(ctx), reached)
		select {
		case <-ready:
			return true
		case <-activity.GetWorkerStopChannel(ctx):
			return false
		case <-time.After(beatStep):
		}
	}
}

// Release lets the held dispatches of a try go on.
func (j *Jobs) Release(workflowID, try string) { close(j.gate(workflowID + " " + try)) }

func (j *Jobs) released(key string) <-chan struct{} { return j.gate(key) }

func (j *Jobs) gate(key string) chan struct{} {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.gates == nil {
		j.gates = map[string]chan struct{}{}
	}
	if j.gates[key] == nil {
		j.gates[key] = make(chan struct{})
	}
	return j.gates[key]
}

package request

import (
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// heartbeatsWithin bounds how long the jobs that are to stop wait to be asked.
const heartbeatsWithin = 2 * time.Second

// readHeartbeats takes down what the jobs of others' code have heartbeat, just before
// they are asked to stop. Our own jobs hand over their checkpoint as they end; one that
// knows nothing of that ends with a plain cancel, and the server forgets its heartbeat
// with the activity. One local activity reads all: it needs no slot and costs one
// event. Where it can't, the jobs are asked to stop all the same.
func (r *request) readHeartbeats() {
	var asked []*try
	in := wire.HeartbeatsInput{RunID: workflow.GetInfo(r.ctx).WorkflowExecution.RunID, WorkflowID: r.id}
	for _, t := range r.tries {
		if !t.asked && r.endsWithoutDetails(t) {
			asked = append(asked, t)
			in.ActivityIDs = append(in.ActivityIDs, t.activityID)
		}
	}
	if len(asked) == 0 {
		return
	}
	ctx := workflow.WithLocalActivityOptions(r.ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: heartbeatsWithin,
		RetryPolicy:            &temporal.RetryPolicy{MaximumAttempts: 1},
		Summary:                "read what the jobs that are to stop have heartbeat",
	})
	var read wire.Heartbeats
	if err := shell.ExecuteLocal(ctx, wire.ReadHeartbeats, in).Get(ctx, &read); err != nil {
		workflow.GetLogger(ctx).Warn("heartbeats of jobs that are to stop could not be read", "error", err)
		return
	}
	for _, t := range asked {
		t.heartbeat = read.ByActivity[t.activityID]
	}
}

// endsWithoutDetails reports that the try may end without its checkpoint when it is
// asked to stop: it runs code that is not ours, and heartbeats.
func (r *request) endsWithoutDetails(t *try) bool {
	j := r.chain.Job(t.job)
	return t.child == nil && j.Heartbeat > 0 && !wire.OwnJob(j.Activity)
}

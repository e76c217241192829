package request

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/internal/limits"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// try is one dispatch of a job that has not ended.
type try struct {
	job          int
	number       int
	asked        bool            // to stop, by a suspension or for good
	future       workflow.Future // of the activity, the child workflow or whoever follows it
	cancel       workflow.CancelFunc
	child        *child          // nil for an activity
	activityID   string          // "" for a child
	heartbeat    json.RawMessage // what it had heartbeat when it was asked to stop, where that was read
	untakenUntil time.Time       // no worker had taken its last dispatch: when it is clear that one has taken this
}

func (t *try) ended() bool { return t.future.IsReady() }

// dispatch starts the jobs that may start, as many as may run at once.
func (r *request) dispatch(ctx workflow.Context) {
	info := workflow.GetInfo(ctx)
	if length := info.GetCurrentHistoryLength(); length != r.task.task {
		r.task = taskBudget{task: length}
	}
	r.task.over = false
	if historyFull(info) {
		return
	}
	now := workflow.Now(ctx)
	for len(r.tries) < r.doc.Parallel() {
		if r.task.spent() {
			r.task.over = true
			return
		}
		i, ok := r.chain.Next(now)
		if !ok {
			break
		}
		r.begin(i, now)
	}
	r.settle(now) // a job that could not be dispatched may have been the last
}

// begin dispatches job i, or fails it where its input can't be made.
func (r *request) begin(i int, now time.Time) {
	j := r.chain.Job(i)
	made := r.input(i)
	input := made.Input
	if made.Error != "" {
		r.chain.Refuse(i, now, made.Type, fmt.Sprintf("job %s: input: %s", j.ID, made.Error))
		return
	}
	number, checkpoint := r.chain.Peek(i)
	if bytes := len(input) + len(checkpoint); bytes > jobchain.MaxCarried {
		r.chain.Refuse(i, now, activities.TypeTooLarge, fmt.Sprintf(
			"job %s: input and checkpoint of %d bytes, more than %d; keep large data elsewhere and hand on where it is", j.ID, bytes, jobchain.MaxCarried))
		return
	}
	if id := wire.ChildID(r.id, j.ID, strconv.Itoa(number)); j.Workflow != "" && len(id) > limits.ID {
		r.chain.Refuse(i, now, activities.TypeInvalidInput, fmt.Sprintf(
			"job %s: the child's workflow ID has %d bytes, more than %d", j.ID, len(id), limits.ID))
		return
	}
	r.chain.Start(i, now)
	r.task.bytes += len(input) + len(checkpoint) + commandOverhead
	if j.Activity != "" {
		r.tries = append(r.tries, r.startActivity(i, number, input, checkpoint))
		return
	}
	r.tries = append(r.tries, r.startChild(i, number, input))
}

func (r *request) startActivity(i, number int, input, checkpoint json.RawMessage) *try {
	j := r.chain.Job(i)
	options := activities.TryOptions(j.Timeout.Std(), j.Heartbeat.Std())
	key := tryKey(j.ID, number)
	options.ActivityID = r.ids.next(i, number, key)
	options.TaskQueue = j.TaskQueue
	options.ScheduleToStartTimeout = shell.Untaken(r.untaken[i])
	options.Priority = r.priority(j)
	options.Summary = fmt.Sprintf("job %s, try %d", j.ID, number)
	ctx, cancel := workflow.WithCancel(r.ctx)
	ctx = activities.WithHanded(ctx, activities.Handed{FirstRun: r.id + "/" + r.firstRun, Key: key, Checkpoint: checkpoint})
	ctx = workflow.WithActivityOptions(ctx, options)
	t := &try{job: i, number: number, cancel: cancel, activityID: options.ActivityID,
		future: workflow.ExecuteActivity(ctx, j.Activity, input)}
	if r.untaken[i] > 0 {
		t.untakenUntil = workflow.Now(ctx).Add(options.ScheduleToStartTimeout + takenBy)
	}
	return t
}

func (r *request) priority(j *jobchain.Job) temporal.Priority {
	return temporal.Priority{PriorityKey: j.Priority, FairnessKey: r.doc.FairnessKey}
}

// historyFull reports that dispatch has to wait until nothing is pending and the
// run can continue as new: far beyond the suggestion, far below the limits of
// 51,200 events and 50 MiB.
func historyFull(info *workflow.Info) bool {
	const maxEvents, maxBytes = 20_000, 20 << 20
	return info.GetCurrentHistoryLength() > maxEvents || info.GetCurrentHistorySize() > maxBytes
}

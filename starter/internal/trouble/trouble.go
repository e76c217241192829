// Package trouble tells why a workflow does not move, as far as it can be seen
// from outside: nobody polls a queue, an activity fails and is tried again. It
// asks only what costs no query.
package trouble

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"sluice/activities/requests"
	"sluice/internal/jobchain"
	"sluice/workflows/request"
)

// Trouble is why a workflow does not move.
type Trouble struct {
	WaitsFor  []string // in words
	LastError string   // of what is tried again
}

// None reports that nothing is known to be in the way.
func (t Trouble) None() bool { return len(t.WaitsFor) == 0 && t.LastError == "" }

// String is the trouble in one line.
func (t Trouble) String() string {
	var parts []string
	if len(t.WaitsFor) > 0 {
		parts = append(parts, "waits for "+strings.Join(t.WaitsFor, ", "))
	}
	if t.LastError != "" {
		parts = append(parts, "last error: "+t.LastError)
	}
	return strings.Join(parts, "; ")
}

// An Observer looks for trouble. Its answers about pollers are kept for a few
// seconds.
type Observer struct {
	Client   client.Client
	Failures converter.FailureConverter
	Payloads converter.DataConverter
	Describe func(error) string // an error as a person reads it

	mu    sync.Mutex
	polls map[string]answer
}

type answer struct {
	polled bool
	at     time.Time
}

// answerFresh is how long an answer about pollers is good.
const answerFresh = 4 * time.Second

// brief is how long an activity may wait for a worker before it is told.
const brief = 3 * time.Second

// Polled reports that a worker polls the queue; one that can't be looked up is
// taken to be polled.
func (o *Observer) Polled(ctx context.Context, queue string) bool {
	o.mu.Lock()
	known, ok := o.polls[queue]
	o.mu.Unlock()
	if ok && time.Since(known.at) < answerFresh {
		return known.polled
	}
	polled, err := requests.Polled(ctx, o.Client, queue)
	if err != nil {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.polls == nil {
		o.polls = map[string]answer{}
	}
	o.polls[queue] = answer{polled, time.Now()}
	return polled
}

// Unpolled is what is waited for where nobody polls the queue.
func Unpolled(queue string) string { return "a worker: no worker polls queue " + queue }

// Of looks at a running workflow as it was described, and at its jobs where it is
// a request.
func (o *Observer) Of(ctx context.Context, described *workflowservice.DescribeWorkflowExecutionResponse, jobs []request.Job) Trouble {
	var t Trouble
	info := described.GetWorkflowExecutionInfo()
	if info.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return t
	}
	if task := described.GetPendingWorkflowTask(); task != nil {
		if queue := info.GetTaskQueue(); !o.Polled(ctx, queue) {
			t.wait(Unpolled(queue))
		} else if task.GetAttempt() > 2 {
			t.wait(fmt.Sprintf("its workflow task, which fails (try %d)", task.GetAttempt()))
		}
	}
	for _, activity := range described.GetPendingActivities() {
		o.activity(ctx, &t, activity)
	}
	for _, job := range jobs {
		o.job(ctx, &t, job)
	}
	t.few()
	return t
}

// activity tells of one that no worker has, and of one that fails.
func (o *Observer) activity(ctx context.Context, t *Trouble, p *workflow.PendingActivityInfo) {
	if failure := p.GetLastFailure(); failure != nil {
		t.LastError = o.Describe(o.Failures.FailureToError(failure))
	}
	o.heartbeat(t, p)
	if p.GetPaused() {
		t.wait("activity " + p.GetActivityId() + " to be unpaused")
		return
	}
	queue := p.GetActivityOptions().GetTaskQueue().GetName()
	if p.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED || queue == "" || p.GetLastFailure() != nil {
		return
	}
	switch {
	case !o.Polled(ctx, queue):
		t.wait(Unpolled(queue))
	case time.Since(p.GetScheduledTime().AsTime()) > brief:
		t.wait(fmt.Sprintf("a worker on queue %s for %s", queue, p.GetActivityType().GetName()))
	}
}

// heartbeat takes the last error from what an activity heartbeats, where it tells
// one: of its polls, or of the queues that it polls.
func (o *Observer) heartbeat(t *Trouble, p *workflow.PendingActivityInfo) {
	var beat struct {
		LastError string
		Queues    []struct{ LastError string }
	}
	if p.GetHeartbeatDetails() == nil || t.LastError != "" || o.Payloads.FromPayloads(p.GetHeartbeatDetails(), &beat) != nil {
		return // nothing that is meant for people
	}
	t.LastError = beat.LastError
	for _, queue := range beat.Queues {
		if t.LastError == "" {
			t.LastError = queue.LastError
		}
	}
}

// job tells of one that is tried again, and of a child that nobody takes up.
func (o *Observer) job(ctx context.Context, t *Trouble, j request.Job) {
	if j.State != jobchain.Running && j.State != jobchain.Pending {
		return
	}
	if j.Error != "" && t.LastError == "" {
		t.LastError = j.ID + ": " + j.Error
	}
	if j.State == jobchain.Running && !o.Polled(ctx, j.TaskQueue) {
		t.wait(Unpolled(j.TaskQueue))
	}
}

func (t *Trouble) wait(what string) {
	if !slices.Contains(t.WaitsFor, what) {
		t.WaitsFor = append(t.WaitsFor, what)
	}
}

// most is how many things are told that are waited for.
const most = 3

func (t *Trouble) few() {
	if more := len(t.WaitsFor) - most; more > 0 {
		t.WaitsFor = append(t.WaitsFor[:most], fmt.Sprintf("and %d more", more))
	}
}

// Jobs adds to those jobs of a request that wait for a worker that they do.
func (o *Observer) Jobs(ctx context.Context, s *request.Status, pending []*workflow.PendingActivityInfo) {
	begun := map[string]bool{} // activities, by their try: whether a worker has them
	for _, p := range pending {
		begun[request.TryOfActivity(p.GetActivityId())] = p.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
	}
	for i := range s.Jobs {
		j := &s.Jobs[i]
		begun, isActivity := begun[fmt.Sprintf("%s/%d", j.ID, j.Tries)]
		if begun || j.State != jobchain.Running && (j.State != jobchain.Pending || len(j.WaitsFor) > 0) {
			continue
		}
		switch {
		case !o.Polled(ctx, j.TaskQueue):
			j.WaitsFor = append(j.WaitsFor, "no worker polls queue "+j.TaskQueue)
		case isActivity:
			j.WaitsFor = append(j.WaitsFor, "a worker on queue "+j.TaskQueue)
		}
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
)

// chain runs a hundred chains of a hundred jobs as one request.
func chain(ctx context.Context, s *harness.Stack, queue string, r *report) error {
	const width, depth = 100, 100
	var jobs []string
	for c := range width {
		for n := range depth {
			after := ""
			if n > 0 {
				after = fmt.Sprintf(`,"after":["%d-%d"]`, c, n-1)
			}
			jobs = append(jobs, fmt.Sprintf(`{"id":"%d-%d","activity":"Test.Job","taskQueue":%q%s}`, c, n, queue, after))
		}
	}
	began := time.Now()
	run, err := s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.Name("chain"), TaskQueue: s.TaskQueue},
		workflows.TypeRequest, json.RawMessage(`{"jobs":[`+strings.Join(jobs, ",")+`]}`))
	if err != nil {
		return err
	}
	first := run.GetRunID()
	var result request.Result
	if err := run.Get(ctx, &result); err != nil {
		return err
	}
	r.ChainSeconds, r.ChainJobs = time.Since(began).Seconds(), result.FinishedJobs
	events := 0
	var longest *historypb.History
	for id := first; id != ""; r.ChainRuns++ {
		history, next, err := readHistory(ctx, s.Client, run.GetID(), id)
		if err != nil {
			return err
		}
		for _, e := range history.Events {
			if !strings.HasPrefix(e.GetEventType().String(), "WorkflowTask") {
				events++
			}
		}
		if longest == nil || len(history.Events) > len(longest.Events) {
			longest = history
		}
		id = next
	}
	r.EventsPerJob = float64(events) / float64(result.TotalJobs)
	return replay(run.GetID(), longest, r)
}

func readHistory(ctx context.Context, c client.Client, id, run string) (*historypb.History, string, error) {
	history, next := &historypb.History{}, ""
	events := c.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return nil, "", err
		}
		if e.GetEventType() == enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CONTINUED_AS_NEW {
			next = e.GetWorkflowExecutionContinuedAsNewEventAttributes().GetNewExecutionRunId()
		}
		history.Events = append(history.Events, e)
	}
	return history, next, nil
}

// replay times the first ten thousand events of a history, up to the end of a
// workflow task.
func replay(id string, history *historypb.History, r *report) error {
	const most = 10_000
	cut := min(len(history.Events), most)
	for cut > 0 && history.Events[cut-1].GetEventType() != enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
		cut--
	}
	for cut < len(history.Events) && !endsTask(history.Events[cut]) {
		cut++ // the commands of that task
	}
	history.Events = history.Events[:cut]
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Plugins: []worker.Plugin{sluice.Plugin(nil)},
	})
	if err != nil {
		return err
	}
	started := history.Events[0].GetWorkflowExecutionStartedEventAttributes()
	began := time.Now()
	err = replayer.ReplayWorkflowHistoryWithOptions(nil, history, worker.ReplayWorkflowHistoryOptions{
		OriginalExecution: workflow.Execution{ID: id, RunID: started.GetOriginalExecutionRunId()}})
	r.ReplaySeconds, r.ReplayEvents = time.Since(began).Seconds(), len(history.Events)
	return err
}

// endsTask reports that an event is not one of a workflow task's commands.
func endsTask(e *historypb.HistoryEvent) bool {
	switch e.GetEventType() {
	case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED, enumspb.EVENT_TYPE_TIMER_STARTED, enumspb.EVENT_TYPE_TIMER_CANCELED,
		enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
		return false
	default:
		return true
	}
}

// thousand suspends and resumes a thousand running requests by the starter's
// --query, timed from the command's start to its end.
func thousand(ctx context.Context, s *harness.Stack, queue string, r *report) error {
	const requests = 1000
	kind := s.Name("kind")
	document := json.RawMessage(fmt.Sprintf(`{"type":%q,"jobs":[{"id":"a","activity":"Test.Job","taskQueue":%q,"heartbeat":"1m","timeout":"1h","input":{"takes":"1h","step":"1s"}}]}`, kind, queue))
	slots, failed := make(chan struct{}, 32), make(chan error, requests)
	var all sync.WaitGroup
	ids := make([]string, requests)
	for i := range ids {
		ids[i] = "request/" + s.Name("r")
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			_, err := s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: ids[i], TaskQueue: s.TaskQueue}, workflows.TypeRequest, document)
			failed <- err
		})
	}
	all.Wait()
	close(failed)
	for err := range failed {
		if err != nil {
			return err
		}
	}
	clause := fmt.Sprintf(`SluiceType = %q AND SluiceState = `, kind)
	for _, step := range []struct {
		verb, from, to string
		seconds        *float64
	}{{"suspend", "RUNNING", "SUSPENDED", &r.Suspend1000Seconds}, {"resume", "SUSPENDED", "RUNNING", &r.Resume1000Seconds}} {
		if err := awaitCount(ctx, s, clause+`"`+step.from+`"`, requests); err != nil {
			return err
		}
		began := time.Now()
		told := s.Starter("request", step.verb, "--query", clause+`"`+step.from+`"`)
		*step.seconds = time.Since(began).Seconds()
		if told.Code != 0 {
			return fmt.Errorf("%s: exit %d: %s", step.verb, told.Code, told.Stderr)
		}
		if err := awaitCount(ctx, s, clause+`"`+step.to+`"`, requests); err != nil {
			return err
		}
		if step.to == "SUSPENDED" {
			if err := awaitStopped(ctx, s, ids); err != nil {
				return err
			}
		}
	}
	return nil
}

// awaitStopped waits until no job of the requests runs any more: a suspended
// request lets its jobs stop within their grace.
func awaitStopped(ctx context.Context, s *harness.Stack, ids []string) error {
	for _, id := range ids {
		for {
			described, err := s.Client.DescribeWorkflow(ctx, id, "")
			if err != nil {
				return err
			}
			if len(described.RawResponse.GetPendingActivities()) == 0 {
				break
			}
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s: %w", id, ctx.Err())
			case <-time.After(200 * time.Millisecond):
			}
		}
	}
	return nil
}

func awaitCount(ctx context.Context, s *harness.Stack, query string, want int64) error {
	for {
		count, err := s.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: `ExecutionStatus = "Running" AND ` + query})
		if err == nil && count.GetCount() == want {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %d of %d: %w", query, count.GetCount(), want, ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}

package soak

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"sluice/workflows"
)

// aftermath is how long after all generators have ended something may still run.
const aftermath = 2 * time.Minute

// evidence is all but the journal and what is left.
func (w *world) evidence(ctx context.Context, since time.Time, promises []Promise) (seen Evidence, err error) {
	// What an ingestion started is told to end and may do so after it, when a lost worker
	// is noticed.
	last := time.Now().Add(aftermath)
	for {
		if seen.Finals, err = w.collect(ctx, since, promises); err != nil {
			return seen, err
		}
		running := slices.ContainsFunc(Audit(promises, seen).Breaches, func(b Breach) bool { return b.Kind == StillRunning })
		if !running || time.Now().After(last) {
			break
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return seen, ctx.Err()
		}
	}
	others, err := w.others(ctx, promises)
	seen.Finals = append(seen.Finals, others...)
	return seen, err
}

// collect reads how every workflow that began since then has ended, and asks those that
// something was promised of for their status.
func (w *world) collect(ctx context.Context, since time.Time, promises []Promise) (finals []Final, err error) {
	promised := map[string]bool{}
	for _, p := range promises {
		promised[p.ID] = true
	}
	runs, err := w.runs(ctx, since)
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	for _, r := range runs { // the oldest first
		id := r.GetExecution().GetWorkflowId()
		if _, known := at[id]; !known {
			at[id] = len(finals)
			finals = append(finals, Final{ID: id, Type: r.GetType().GetName(), Lasting: r.GetType().GetName() == workflows.TypeThroughput})
		}
		f := &finals[at[id]]
		f.Running = r.GetStatus() == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
		if err := w.history(ctx, id, r.GetExecution().GetRunId(), f); err != nil {
			return nil, err
		}
	}
	for id, i := range at {
		if promised[id] {
			err = again(ctx, "status of "+id, func(ctx context.Context) error { return w.describe(ctx, &finals[i]) })
		}
		if err != nil {
			return nil, err
		}
	}
	return finals, nil
}

// runs lists all runs since then, the oldest first.
func (w *world) runs(ctx context.Context, since time.Time) (runs []*workflowpb.WorkflowExecutionInfo, err error) {
	query := fmt.Sprintf("StartTime >= '%s'", since.UTC().Format(time.RFC3339Nano))
	var page []byte
	for {
		listed, err := w.s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, NextPageToken: page})
		if err != nil {
			return nil, err
		}
		runs = append(runs, listed.GetExecutions()...)
		if page = listed.GetNextPageToken(); len(page) == 0 {
			break
		}
	}
	slices.SortStableFunc(runs, func(a, b *workflowpb.WorkflowExecutionInfo) int {
		return a.GetStartTime().AsTime().Compare(b.GetStartTime().AsTime())
	})
	return runs, nil
}

// history takes in what a run did.
func (w *world) history(ctx context.Context, id, run string, f *Final) error {
	events := w.s.Client.GetWorkflowHistory(ctx, id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	jobs := map[int64]string{} // by the event that scheduled them
	for events.HasNext() {
		e, err := events.Next()
		if err != nil {
			return fmt.Errorf("history of %s: %w", id, err)
		}
		if failed := e.GetWorkflowTaskFailedEventAttributes(); failed != nil {
			f.FailedTasks = append(f.FailedTasks, failed.GetCause().String()+": "+failed.GetFailure().GetMessage())
		}
		if ended := e.GetWorkflowExecutionFailedEventAttributes(); ended != nil {
			f.Error = ended.GetFailure().GetMessage()
		}
		if f.Type == workflows.TypeRequest {
			f.Tries = append(f.Tries, triesOf(e, id, jobs)...)
		}
	}
	return nil
}

// triesOf are the dispatches and successes that an event of a request tells of.
func triesOf(e *historypb.HistoryEvent, request string, jobs map[int64]string) []Try {
	dispatched := func(job string) []Try {
		jobs[e.GetEventId()] = job
		return []Try{{Job: job}}
	}
	succeeded := func(scheduled int64) []Try {
		if jobs[scheduled] == "" { // another activity than a job
			return nil
		}
		return []Try{{Job: jobs[scheduled], Success: true}}
	}
	if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
		if job, _, isJob := strings.Cut(a.GetActivityId(), "/"); isJob {
			return dispatched(job)
		}
	}
	if c := e.GetStartChildWorkflowExecutionInitiatedEventAttributes(); c != nil {
		job, _, _ := strings.Cut(strings.TrimPrefix(c.GetWorkflowId(), request+"/"), "/")
		return dispatched(job)
	}
	if a := e.GetActivityTaskCompletedEventAttributes(); a != nil {
		return succeeded(a.GetScheduledEventId())
	}
	if c := e.GetChildWorkflowExecutionCompletedEventAttributes(); c != nil {
		return succeeded(c.GetInitiatedEventId())
	}
	return nil
}

// describe takes in a workflow's status document: its state, its numbers, those of its
// result, its jobs and their errors.
func (w *world) describe(ctx context.Context, f *Final) error {
	var status struct {
		State, Phase, Reason, LastError string
		Result                          map[string]any
		Jobs                            []struct{ ID, State, Error string }
	}
	var raw json.RawMessage
	if err := w.status(ctx, f.ID, &raw); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &status); err != nil {
		return err
	}
	var all map[string]any
	if err := json.Unmarshal(raw, &all); err != nil {
		return err
	}
	f.State, f.Error = status.State, strings.Join([]string{f.Error, status.Reason, status.LastError}, " ")
	if f.State == "" {
		f.State = status.Phase
	}
	if reason, ok := status.Result["reason"].(string); ok { // of a watch
		f.State += " " + reason
	}
	f.Jobs, f.Figures = map[string]string{}, map[string]int64{}
	for _, j := range status.Jobs {
		f.Jobs[j.ID] = j.State
		f.Error += " " + j.Error
	}
	for _, document := range []map[string]any{all, status.Result} {
		for name, value := range document {
			if n, ok := value.(float64); ok {
				f.Figures[name] = int64(n)
			}
		}
	}
	return nil
}

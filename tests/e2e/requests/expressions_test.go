package requests_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/workflows"
)

// TestExpressionThatKilledWorkersIsRefused: a stack overflow took one worker after
// the other with it, and 3 KB of negations kept a workflow task busy for ever.
func TestExpressionThatKilledWorkersIsRefused(t *testing.T) {
	b := newBench(t)
	for name, text := range map[string]string{
		"parentheses": strings.Repeat("(", 435_000) + "a" + strings.Repeat(")", 435_000),
		"2 KB of !":   strings.Repeat("!", 2_000) + "(a)",
		"3 KB of !":   strings.Repeat("!", 3_000) + "(a)",
	} {
		input, err := json.Marshal(map[string]string{"$from": text})
		require.NoError(t, err)
		failure := b.failure(b.start(fmt.Sprintf(`{"jobs":[{"id":"a","activity":"Test.Job","input":%s}]}`, input)))
		require.Equal(t, activities.TypeInvalidInput, failure.Type(), name)
		require.Contains(t, failure.Message(), "jobs[0].input.$from", name)
	}
	run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job"}]}`)
	require.Equal(t, jobchain.Complete, b.result(run).State, "the worker lives")
}

// TestExpressionThatMultipliesFailsItsJob: 2^49 elements are never made, and the
// jobs beside it run.
func TestExpressionThatMultipliesFailsItsJob(t *testing.T) {
	b := newBench(t)
	run := b.start(fmt.Sprintf(`{"args":[1,2,3],"jobs":[{"id":"a","activity":"Test.Job","input":{"$from":"args%s"}},
		{"id":"big","activity":"Test.Job","input":[%s]},
		{"id":"b","activity":"Test.Job","input":{"output":{"$from":"args[2]"}}}],"type":%q}`,
		strings.Repeat("|[@,@][]", 49), strings.TrimSuffix(strings.Repeat(`{"$from":"request.type"},`, 2000), ","), strings.Repeat("x", 1000)))
	b.failure(run)
	s := b.status(run)
	require.Equal(t, jobchain.Fail, s.Jobs[0].State)
	require.Contains(t, s.Jobs[0].Error, "InvalidInput")
	require.Contains(t, s.Jobs[0].Error, "too many steps")
	require.Equal(t, jobchain.Fail, s.Jobs[1].State)
	require.Contains(t, s.Jobs[1].Error, "TooLarge")
	require.Equal(t, jobchain.Complete, s.Jobs[2].State)
}

// TestCostlyExpressionsAreSpreadOverWorkflowTasks: 500 jobs each look through
// 27,500 files. No workflow task does more than a fraction of that, and a worker
// that takes the request up later evaluates little of it again.
func TestCostlyExpressionsAreSpreadOverWorkflowTasks(t *testing.T) {
	b := newBench(t)
	files := make([]map[string]any, 27_500)
	for i := range files {
		files[i] = map[string]any{"id": fmt.Sprintf("f%d", i), "size": i * 7919 % len(files), "k": "in/2026/11"}
	}
	jobs := make([]map[string]any, 500)
	for i := range jobs {
		jobs[i] = map[string]any{"id": fmt.Sprintf("j%d", i), "activity": "Test.Job",
			"input": map[string]any{"output": map[string]string{"$from": fmt.Sprintf("sort_by(args.files,&size)[?id=='f%d']|[0].id", i)}}}
	}
	document, err := json.Marshal(map[string]any{"args": map[string]any{"files": files}, "jobs": jobs})
	require.NoError(t, err)
	require.Greater(t, len(document), 1_300_000)
	run := b.start(string(document))
	result := b.result(run)
	require.Equal(t, jobchain.Complete, result.State)
	for i := range jobs {
		require.JSONEq(t, fmt.Sprintf(`"f%d"`, i), string(result.Jobs[fmt.Sprintf("j%d", i)]))
	}
	h := b.history(run)
	perTask, longest, first := dispatches(h)
	t.Logf("%d workflow tasks with dispatches, the longest task %v, the first dispatch after %v", len(perTask), longest, first)
	require.Greater(t, len(perTask), 10)
	for _, n := range perTask {
		require.Less(t, n, 50)
	}
	// On an idle machine two seconds and five; here what would wedge the request.
	require.Less(t, longest, 10*time.Second)
	require.Less(t, first, 30*time.Second)
	kept := 0
	for _, event := range h {
		if event.GetEventType() == enumspb.EVENT_TYPE_MARKER_RECORDED {
			kept++
		}
	}
	require.Greater(t, kept, 400, "what replay would have to evaluate again")
	b.replay(run.GetID(), 1)
}

// TestInputIsKeptOnceItsRunHasEvaluatedMuch: what replay would have to evaluate
// again, all in one task, is in the history.
func TestInputIsKeptOnceItsRunHasEvaluatedMuch(t *testing.T) {
	b := newBench(t)
	text := "length(args" + strings.Repeat("|[@,@][]", 18) + ")"
	jobs := make([]string, 6)
	for i := range jobs {
		jobs[i] = fmt.Sprintf(`{"id":"j%d","activity":"Test.Job","input":{"output":{"$from":%q}}}`, i, text)
	}
	run := b.start(`{"args":[1,2],"jobs":[` + strings.Join(jobs, ",") + `]}`)
	result := b.result(run)
	for i := range jobs {
		require.JSONEq(t, fmt.Sprint(1<<19), string(result.Jobs[fmt.Sprintf("j%d", i)]))
	}
	kept := 0
	for _, event := range b.history(run) {
		if event.GetEventType() == enumspb.EVENT_TYPE_MARKER_RECORDED {
			kept++
		}
	}
	require.NotZero(t, kept)
	require.Less(t, kept, len(jobs))
	b.Record(run.GetID(), workflows.TypeRequest, "inputs-kept")
}

// history is that of the request's present run.
func (b *bench) history(run client.WorkflowRun) (all []*historypb.HistoryEvent) {
	b.t.Helper()
	events := b.c.GetWorkflowHistory(b.patient(), run.GetID(), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(b.t, err)
		all = append(all, event)
	}
	return all
}

// dispatches is how many activities each workflow task scheduled, how long the
// longest task took, and when the first activity was scheduled.
func dispatches(events []*historypb.HistoryEvent) (perTask map[int64]int, longest, first time.Duration) {
	perTask = map[int64]int{}
	var begun time.Time
	for _, event := range events {
		at := event.GetEventTime().AsTime()
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED:
			begun = at
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			longest = max(longest, at.Sub(begun))
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
			perTask[event.GetActivityTaskScheduledEventAttributes().GetWorkflowTaskCompletedEventId()]++
			if first == 0 {
				first = at.Sub(events[0].GetEventTime().AsTime())
			}
		}
	}
	return perTask, longest, first
}

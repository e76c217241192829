// Package claiming_test measures claiming against the bare start of the same
// Tasks, and claims ten thousand tasks through workers that are killed. Run it
// by `make bench-claim`; it prints its figures and writes them, as one JSON
// object, to the file that SLUICE_BENCH_OUTPUT names.
package claiming_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// figures is the last line of `make bench-claim`.
type figures struct {
	TasksPerSecond     float64 `json:"tasksPerSecond"`
	BareTasksPerSecond float64 `json:"bareTasksPerSecond"`
	Ratio              float64 `json:"ratio"`
	// The same with a Request of one job as the work, beside such requests bare.
	RequestsPerSecond     float64 `json:"requestsPerSecond"`
	BareRequestsPerSecond float64 `json:"bareRequestsPerSecond"`
	OfBareRequest         float64 `json:"ofBareRequest"`
	ClaimerEventsPer32    float64 `json:"claimerEventsPer32"` // those of the ends included
	Tasks                 int     `json:"tasks"`
	Lost                  int     `json:"lost"`
	Doubled               int     `json:"doubled"`
	Poisoned              int     `json:"poisoned"`
	BadMessages           int     `json:"badMessages"`
	Kills                 int     `json:"kills"`
	Seconds               float64 `json:"seconds"` // of the run with kills
}

const (
	capacity = 200
	kills    = 3
)

func setting(t *testing.T, name string, otherwise int) int {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, name)
	return n
}

// Nothing is the work of a task: it ends at once, so that what is measured is
// the claiming.
func Nothing(workflow.Context) error { return nil }

type field struct {
	*harness.Stack
	t    *testing.T
	work string
}

func TestBenchClaim(t *testing.T) {
	if os.Getenv("SLUICE_BENCH") == "" {
		t.Skip("a benchmark of some minutes: run `make bench-claim`")
	}
	f := &field{Stack: harness.Start(t), t: t}
	f.work = f.Name("work")
	f.startWork()
	measured := setting(t, "SLUICE_BENCH_RATE_TASKS", 2000)
	total := setting(t, "SLUICE_BENCH_TASKS", 10000)

	first, second := f.StartWorker("SLUICE_LOG_LEVEL=error"), f.StartWorker("SLUICE_LOG_LEVEL=error")
	var result figures
	// 0 of anything leaves it out.
	if measured > 0 {
		f.compareTasks(&result, measured)
	}
	if n := setting(t, "SLUICE_BENCH_REQUESTS", 600); n > 0 {
		f.compareRequests(&result, n)
	}
	if total > 0 {
		f.killed(&result, total, []*harness.Worker{first, second})
	}
	raw, err := json.Marshal(result)
	require.NoError(t, err)
	if path := os.Getenv("SLUICE_BENCH_OUTPUT"); path != "" {
		require.NoError(t, os.WriteFile(path, append(raw, '\n'), 0o644))
	}
	require.Zero(t, result.Lost)
	require.Zero(t, result.Doubled)
	require.Equal(t, result.BadMessages, result.Poisoned)
	require.LessOrEqual(t, result.ClaimerEventsPer32, 40.0)
}

// compareTasks measures Tasks whose work is nothing. Bare, claimed, bare: a machine
// that grows busy or idle meanwhile favours neither.
func (f *field) compareTasks(result *figures, n int) {
	f.t.Helper()
	f.bare("warm", 200)
	before := f.bare("before", n)
	result.TasksPerSecond, result.ClaimerEventsPer32 = f.claimed("rate", n)
	after := f.bare("after", n)
	result.BareTasksPerSecond = (before + after) / 2
	result.Ratio = result.TasksPerSecond / result.BareTasksPerSecond
	f.t.Logf("bare %.1f and %.1f tasks/s, claimed %.1f tasks/s: ratio %.2f; %.1f claimer events per 32 tasks",
		before, after, result.TasksPerSecond, result.Ratio, result.ClaimerEventsPer32)
}

// startWork runs the worker for the work of the tasks.
func (f *field) startWork() {
	c, err := client.Dial(client.Options{
		HostPort: f.Env("TEMPORAL_ADDRESS"), Namespace: f.Env("TEMPORAL_NAMESPACE"),
		Logger: temporallog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	require.NoError(f.t, err)
	w := worker.New(c, f.work, worker.Options{})
	w.RegisterWorkflowWithOptions(Nothing, workflow.RegisterOptions{Name: "Nothing"})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "Nothing"})
	require.NoError(f.t, w.Start())
	f.t.Cleanup(func() { w.Stop(); c.Close() })
}

// bare starts n Tasks with no claimer and no queue and returns how many a second
// start and end.
func (f *field) bare(name string, n int) float64 {
	f.t.Helper()
	queue := f.Name(name)
	began := time.Now()
	f.each(n, 32, func(i int) error {
		id := fmt.Sprintf("%s-%d", queue, i)
		_, err := f.Client.ExecuteWorkflow(f.t.Context(), client.StartWorkflowOptions{
			ID: "task/" + id + "/0", TaskQueue: f.TaskQueue,
			TypedSearchAttributes: temporal.NewSearchAttributes(
				temporal.NewSearchAttributeKeyKeyword("SluiceState").ValueSet("RUNNING"),
				temporal.NewSearchAttributeKeyKeyword("SluiceType").ValueSet("Task"),
				temporal.NewSearchAttributeKeyKeyword("SluiceTarget").ValueSet(queue)),
		}, "Task", map[string]any{"taskId": id, "queue": queue, "run": f.nothing()})
		return err
	})
	f.awaitEnds(queue, n)
	return float64(n) / time.Since(began).Seconds()
}

// claimed puts n tasks on a queue and claims them; it returns how many a second
// end, and the claimer's events per 32.
func (f *field) claimed(name string, n int) (rate, eventsPer32 float64) {
	f.t.Helper()
	queue := f.Name(name)
	f.enqueue(queue, n, 0, "{}")
	began := time.Now()
	f.startClaimer(queue, f.nothing())
	f.awaitEnds(queue, n)
	rate = float64(n) / time.Since(began).Seconds()
	return rate, f.endClaimer(queue, n)
}

// killed claims n tasks while the workers are killed one after the other.
func (f *field) killed(result *figures, n int, workers []*harness.Worker) {
	f.t.Helper()
	queue := f.Name("killed")
	result.Tasks, result.BadMessages = n, n/100
	f.enqueue(queue, n, result.BadMessages, "{}")
	began := time.Now()
	f.startClaimer(queue, f.nothing())
	for k := range kills {
		f.awaitCount(queue, n*(k+1)/(kills+1))
		workers[k%2].Kill()
		workers[k%2] = f.StartWorker("SLUICE_LOG_LEVEL=error")
		result.Kills++
	}
	f.awaitEnds(queue, n)
	result.Seconds = time.Since(began).Seconds()
	f.endClaimer(queue, n)
	tasks, executions := f.distinct(fmt.Sprintf("WorkflowType = 'Task' AND SluiceTarget = '%s'", queue))
	result.Lost = n - tasks
	result.Doubled = executions - tasks
	_, runs := f.distinct(fmt.Sprintf("WorkflowType = 'Nothing' AND WorkflowId STARTS_WITH 'task/%s-'", queue))
	result.Doubled += max(0, runs-n)
	result.Poisoned = f.poisoned(queue + "-poison")
	f.t.Logf("%d tasks with %d kills in %.0f s: %d lost, %d doubled, %d of %d bad messages poisoned",
		result.Tasks, result.Kills, result.Seconds, result.Lost, result.Doubled, result.Poisoned, result.BadMessages)
}

// enqueue puts n tasks of a payload on a new queue, and some messages that are none.
func (f *field) enqueue(queue string, n, bad int, payload string) {
	f.t.Helper()
	f.NewAzureQueue(queue)
	client := f.Queues.NewQueueClient(queue)
	every := 0
	if bad > 0 {
		every = n / bad
	}
	f.each(n, 16, func(i int) error {
		if every > 0 && i%every == 0 {
			if _, err := client.EnqueueMessage(f.t.Context(), fmt.Sprintf("bad message %d", i), nil); err != nil {
				return err
			}
		}
		_, err := client.EnqueueMessage(f.t.Context(), fmt.Sprintf(`{"taskId":"%s-%d","payload":%s}`, queue, i, payload), nil)
		return err
	})
}

// nothing is the work that is the workflow Nothing.
func (f *field) nothing() map[string]string {
	return map[string]string{"workflow": "Nothing", "taskQueue": f.work}
}

func (f *field) startClaimer(queue string, run map[string]string) {
	f.t.Helper()
	_, err := f.Client.ExecuteWorkflow(f.t.Context(), client.StartWorkflowOptions{ID: "claim/" + queue, TaskQueue: f.TaskQueue}, "ClaimTasks",
		map[string]any{
			"queues": []any{map[string]string{"name": queue}}, "capacity": capacity, "interval": "1s",
			"run": run,
		})
	require.NoError(f.t, err)
}

// endClaimer drains the claimer, checks its books, and returns its events per 32
// tasks over all of its runs, workflow tasks not counted.
func (f *field) endClaimer(queue string, n int) float64 {
	f.t.Helper()
	id := "claim/" + queue
	var result struct{ Claimed, Finished, Failed int64 }
	harness.AwaitFor(f.t, 5*time.Minute, "drained", func(ctx context.Context) error {
		_, err := f.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
			WorkflowID: id, UpdateName: "drain", Args: []any{json.RawMessage(`{"wait":"0s"}`)}, WaitForStage: client.WorkflowUpdateStageCompleted})
		return err
	})
	require.NoError(f.t, f.Client.GetWorkflow(f.t.Context(), id, "").Get(f.t.Context(), &result))
	require.EqualValues(f.t, n, result.Claimed)
	require.EqualValues(f.t, n, result.Finished)
	require.Zero(f.t, result.Failed)
	events := 0
	listed, err := f.Client.ListWorkflow(f.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: fmt.Sprintf("WorkflowId = '%s'", id)})
	require.NoError(f.t, err)
	for _, run := range listed.GetExecutions() {
		events += f.events(id, run.GetExecution().GetRunId())
	}
	return float64(events) * 32 / float64(n)
}

func (f *field) events(id, run string) (n int) {
	f.t.Helper()
	history := f.Client.GetWorkflowHistory(f.t.Context(), id, run, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(f.t, err)
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
			enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
		default:
			n++
		}
	}
	return n
}

// each calls do for 0 to n-1, parallel at once.
func (f *field) each(n, parallel int, do func(int) error) {
	f.t.Helper()
	var next atomic.Int64
	var failed atomic.Value
	var working sync.WaitGroup
	for range parallel {
		working.Add(1)
		go func() {
			defer working.Done()
			for i := int(next.Add(1) - 1); i < n && failed.Load() == nil; i = int(next.Add(1) - 1) {
				if err := do(i); err != nil {
					failed.Store(err)
				}
			}
		}()
	}
	working.Wait()
	if err, ok := failed.Load().(error); ok {
		require.NoError(f.t, err)
	}
}

// awaitEnds waits until n Tasks of a queue have closed.
func (f *field) awaitEnds(queue string, n int) { f.t.Helper(); f.awaitCount(queue, n) }

func (f *field) awaitCount(queue string, n int) {
	f.t.Helper()
	f.awaitCompleted(fmt.Sprintf("WorkflowType = 'Task' AND SluiceTarget = '%s'", queue), n)
}

// awaitCompleted waits until n workflows that the query finds have completed.
func (f *field) awaitCompleted(query string, n int) {
	f.t.Helper()
	harness.AwaitFor(f.t, 30*time.Minute, fmt.Sprintf("%d of %s", n, query), func(ctx context.Context) error {
		counted, err := f.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
			Query: query + " AND ExecutionStatus = 'Completed'"})
		if err == nil && counted.GetCount() < int64(n) {
			err = fmt.Errorf("%d of %d", counted.GetCount(), n)
			time.Sleep(200 * time.Millisecond) // counting is work for the server too
		}
		return err
	})
}

// distinct lists executions and returns the number of workflow IDs and of runs.
func (f *field) distinct(query string) (ids, executions int) {
	f.t.Helper()
	seen := map[string]bool{}
	var page []byte
	for {
		listed, err := f.Client.ListWorkflow(f.t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: 1000, NextPageToken: page})
		require.NoError(f.t, err)
		for _, e := range listed.GetExecutions() {
			seen[e.GetExecution().GetWorkflowId()] = true
			executions++
		}
		if page = listed.GetNextPageToken(); len(page) == 0 {
			return len(seen), executions
		}
	}
}

// poisoned counts the distinct messages on a poison queue.
func (f *field) poisoned(queue string) int {
	f.t.Helper()
	r := f.Starter("claim", "poison", "list", queue[:len(queue)-len("-poison")]).OK(f.t)
	var listed struct{ Count int }
	require.NoError(f.t, json.Unmarshal([]byte(r.Stdout), &listed))
	return listed.Count
}

// Package claiming_test runs ClaimTasks and Task through the public door: worker
// process, starter and command line against the dev stack, with a stand-in for
// the task service that can be told to fail.
package claiming_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
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

// nap is the payload of the work that the tests run: it sleeps, and ends as told.
type nap struct {
	Sleep string `json:"sleep,omitempty"`
	Fail  string `json:"fail,omitempty"` // the error type to fail with
	Deaf  bool   `json:"deaf,omitempty"` // goes on when it is cancelled
}

// Nap is the work of the tests' tasks.
func Nap(ctx workflow.Context, in nap) (string, error) {
	if in.Deaf {
		ctx, _ = workflow.NewDisconnectedContext(ctx)
	}
	if in.Sleep != "" {
		d, err := time.ParseDuration(in.Sleep)
		if err != nil {
			return "", err
		}
		if err := workflow.Sleep(ctx, d); err != nil {
			return "", err
		}
	}
	if in.Fail != "" {
		return "", temporal.NewNonRetryableApplicationError("told to fail", in.Fail, nil)
	}
	return "rested", nil
}

// bench is what most tests start with: a stack, a worker for the naps, and a
// claimer's names.
type bench struct {
	*harness.Stack
	t     *testing.T
	queue string
	id    string
	naps  string // task queue of the naps
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchOn(t)
}

func newBenchOn(t *testing.T, options ...harness.Options) *bench {
	t.Helper()
	t.Parallel() // most of the time is waiting
	s := harness.Start(t, options...)
	b := &bench{Stack: s, t: t, queue: s.Name("tasks"), naps: s.Name("naps")}
	b.id = "claim/" + b.queue
	b.NewAzureQueue(b.queue)
	startNaps(t, s, b.naps)
	return b
}

func startNaps(t *testing.T, s *harness.Stack, taskQueue string) {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: s.Env("TEMPORAL_ADDRESS"), Namespace: s.Env("TEMPORAL_NAMESPACE"),
		Logger: temporallog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	require.NoError(t, err)
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterWorkflowWithOptions(Nap, workflow.RegisterOptions{Name: "Nap"})
	w.RegisterActivityWithOptions(func(context.Context) error { return nil }, activity.RegisterOptions{Name: "Rest"})
	require.NoError(t, w.Start())
	t.Cleanup(func() { w.Stop(); c.Close() })
}

// put puts texts on a queue as they are.
func (b *bench) put(queue string, texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		_, err := b.Queues.NewQueueClient(queue).EnqueueMessage(b.t.Context(), text, nil)
		require.NoError(b.t, err)
	}
}

// message is the text of a task message in base64.
func message(taskID string, runID int, payload any) string {
	raw, err := json.Marshal(map[string]any{"taskId": taskID, "runId": runID, "payload": payload})
	if err != nil {
		panic(err)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// claim starts the claimer; fields are added to the input or replace it.
func (b *bench) claim(fields map[string]any) client.WorkflowRun {
	b.t.Helper()
	in := map[string]any{
		"queues": []any{map[string]string{"name": b.queue}}, "interval": "200ms", "maxInterval": "1s",
		"run": map[string]string{"workflow": "Nap", "taskQueue": b.naps},
	}
	for k, v := range fields {
		in[k] = v
		if v == nil {
			delete(in, k)
		}
	}
	raw, err := json.Marshal(in)
	require.NoError(b.t, err)
	run, err := b.Client.ExecuteWorkflow(b.t.Context(), client.StartWorkflowOptions{ID: b.id, TaskQueue: b.TaskQueue}, "ClaimTasks", json.RawMessage(raw))
	require.NoError(b.t, err)
	b.t.Cleanup(func() { // frees the shared stack of what would go on polling
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = b.Client.TerminateWorkflow(ctx, b.id, "", "test is over")
	})
	return run
}

// status is the claimer's document, as outsiders read it.
type status struct {
	AsOf              time.Time
	State, Reason     string
	Capacity, Running int
	Claimed, Finished int64
	Failed, Poisoned  int64
	Excused           int64
	Queues            []struct {
		Name                            string
		Visible, Invisible, Approximate int64
		Errors                          int64
		LastError                       string
	}
	Tasks []struct {
		TaskID     string `json:"taskId"`
		RunID      int64  `json:"runId"`
		State      string
		StartedAt  time.Time
		TakenUntil *time.Time
	}
}

func (b *bench) status(ctx context.Context) (s status, err error) {
	value, err := b.Client.QueryWorkflow(ctx, b.id, "", "status")
	if err != nil {
		return s, err
	}
	return s, value.Get(&s)
}

// awaitStatus waits until the claimer's status is as wanted.
func (b *bench) awaitStatus(what string, ok func(status) bool) (last status) {
	b.t.Helper()
	harness.Await(b.t, what, func(ctx context.Context) (err error) {
		if last, err = b.status(ctx); err != nil {
			return err
		}
		if !ok(last) {
			return fmt.Errorf("status is %+v", last)
		}
		return nil
	})
	return last
}

// update sends an update and reads its answer.
func (b *bench) update(name, input string) (s status, err error) {
	handle, err := b.Client.UpdateWorkflow(b.t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: b.id, UpdateName: name, Args: []any{json.RawMessage(input)}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return s, err
	}
	return s, handle.Get(b.t.Context(), &s)
}

// task is a Task's status document.
type task struct {
	TaskID        string `json:"taskId"`
	RunID         int64  `json:"runId"`
	State, Reason string
	Reclaims      int
	LastError     string
}

// awaitTask waits for the end of a Task.
func (b *bench) awaitTask(taskID string, runID int) task {
	b.t.Helper()
	var result task
	harness.Await(b.t, "end of task "+taskID, func(ctx context.Context) error {
		return b.Client.GetWorkflow(ctx, fmt.Sprintf("task/%s/%d", taskID, runID), "").Get(ctx, &result)
	})
	return result
}

// taskStatus is Temporal's status of a Task; unspecified while there is none.
func (b *bench) taskStatus(ctx context.Context, taskID string, runID int) enumspb.WorkflowExecutionStatus {
	described, err := b.Client.DescribeWorkflow(ctx, fmt.Sprintf("task/%s/%d", taskID, runID), "")
	if err != nil {
		return enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED
	}
	return described.RawResponse.GetWorkflowExecutionInfo().GetStatus()
}

// history counts the events of a workflow's last run by kind of interest.
func (b *bench) history(id string) (all, withoutTasks int) {
	b.t.Helper()
	events := b.Client.GetWorkflowHistory(b.t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(b.t, err)
		all++
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED, enumspb.EVENT_TYPE_WORKFLOW_TASK_STARTED,
			enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED, enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
		default:
			withoutTasks++
		}
	}
	return all, withoutTasks
}

// countTasks counts Tasks of this test's queue in visibility.
func (b *bench) countTasks(ctx context.Context, clause string) (int64, error) {
	counted, err := b.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{
		Query: fmt.Sprintf("WorkflowType = 'Task' AND SluiceTarget = '%s'%s", b.queue, clause)})
	return counted.GetCount(), err
}

// left reads what a queue has, visible or not.
func (b *bench) left(ctx context.Context, queue string) (int64, error) {
	p, err := b.Queues.NewQueueClient(queue).GetProperties(ctx, nil)
	if err != nil {
		return 0, err
	}
	if p.ApproximateMessagesCount == nil {
		return 0, errors.New("the queue told no count")
	}
	return *p.ApproximateMessagesCount, nil
}

func (b *bench) awaitEmpty(queue string) {
	b.t.Helper()
	harness.Await(b.t, "queue "+queue+" is empty", func(ctx context.Context) error {
		n, err := b.left(ctx, queue)
		if err == nil && n > 0 {
			err = fmt.Errorf("%d messages", n)
		}
		return err
	})
}

// poisoned reads the records on a poison queue.
func (b *bench) poisoned(ctx context.Context, queue string) (records []map[string]any, err error) {
	n := int32(32)
	got, err := b.Queues.NewQueueClient(queue).PeekMessages(ctx, &azqueue.PeekMessagesOptions{NumberOfMessages: &n})
	if err != nil {
		return nil, err
	}
	for _, m := range got.Messages {
		var record map[string]any
		if err := json.Unmarshal([]byte(*m.MessageText), &record); err != nil {
			return nil, err
		}
		records = append(records, record)
	}
	return records, nil
}

// runRequest runs a request to its end; its error has the log of its jobs.
func (b *bench) runRequest(document json.RawMessage) error {
	b.t.Helper()
	id := b.Name("request")
	run, err := b.Client.ExecuteWorkflow(b.t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: b.TaskQueue}, "Request", document)
	require.NoError(b.t, err)
	if err = run.Get(b.t.Context(), nil); err == nil {
		return nil
	}
	value, queryErr := b.Client.QueryWorkflow(b.t.Context(), id, "", "log")
	require.NoError(b.t, queryErr)
	var log json.RawMessage
	require.NoError(b.t, value.Get(&log))
	return fmt.Errorf("%w: %s", err, log)
}

package claiming_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"sluice/tests/harness"
)

// Capacity holds while it changes and while workers are killed; no task starts
// twice and none is lost.
func TestCapacityHoldsThroughKills(t *testing.T) {
	b := newBench(t)
	const tasks, capacity = 60, 6
	for i := range tasks {
		b.put(b.queue, message(fmt.Sprintf("%s-%d", b.queue, i), 0, nap{Sleep: "1s"}))
	}
	worker := b.StartWorker()
	// What a killed worker had received and not yet deleted comes again after this.
	b.claim(map[string]any{"capacity": capacity, "visibilityTimeout": "20s"})
	var most atomic.Int64
	watched, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for watched.Err() == nil {
			if n, err := b.countTasks(watched, " AND ExecutionStatus = 'Running'"); err == nil && n > most.Load() {
				most.Store(n)
			}
			time.Sleep(100 * time.Millisecond)
		}
	}()
	for _, n := range []int64{10, 30} {
		harness.Await(t, "some ran", func(ctx context.Context) error {
			ended, err := b.countTasks(ctx, " AND ExecutionStatus = 'Completed'")
			if err == nil && ended < n {
				err = fmt.Errorf("%d ended", ended)
			}
			return err
		})
		worker.Kill()
		worker = b.StartWorker()
	}
	b.awaitStatus("all ran", func(s status) bool { return s.Finished == tasks && s.Running == 0 })
	stop()
	require.LessOrEqual(t, most.Load(), int64(capacity))
	ran, err := b.countTasks(t.Context(), "")
	require.NoError(t, err)
	require.EqualValues(t, tasks, ran)
	b.awaitEmpty(b.queue)
}

// A Task that is terminated tells nobody; its slot is free again within a minute.
func TestTerminatedTaskFreesItsSlot(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	b.put(b.queue, message(b.queue+"-long", 0, nap{Sleep: "1h"}))
	claimed := time.Now()
	b.claim(map[string]any{"capacity": 1})
	b.awaitStatus("it runs", func(s status) bool { return s.Running == 1 })
	usual := time.Since(claimed) // of this machine, from a free slot to a task that runs
	b.put(b.queue, message(b.queue+"-next", 0, nap{}))
	terminated := time.Now()
	require.NoError(t, b.Client.TerminateWorkflow(t.Context(), "task/"+b.queue+"-long/0", "", "test"))
	b.awaitStatus("the next ran", func(s status) bool { return s.Finished == 2 && s.Failed == 1 && s.Running == 0 })
	require.Less(t, time.Since(terminated), time.Minute+5*usual)
	b.Record(b.id, "ClaimTasks", "lost-task")
}

// drain waits for what runs and claims no more; a lower capacity lets running
// tasks go on; maxTasks counts claims and then ends the claimer.
func TestDrainCapacityAndMaxTasks(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	for i := range 6 {
		// Long enough that a busy machine sees four run at once.
		b.put(b.queue, message(fmt.Sprintf("%s-%d", b.queue, i), 0, nap{Sleep: "25s"}))
	}
	run := b.claim(map[string]any{"capacity": 4})
	b.awaitStatus("four run", func(s status) bool { return s.Running == 4 })
	s, err := b.update("capacity", `{"capacity":1}`)
	require.NoError(t, err)
	require.Equal(t, 4, s.Running)
	s, err = b.update("drain", `{"wait":"1s"}`)
	require.NoError(t, err)
	require.Equal(t, "DRAINING", s.State)
	var result status
	require.NoError(t, run.Get(t.Context(), &result))
	require.EqualValues(t, 4, result.Claimed)
	require.EqualValues(t, 4, result.Finished)
	n, err := b.left(t.Context(), b.queue)
	require.NoError(t, err)
	require.EqualValues(t, 2, n)
	b.Record(b.id, "ClaimTasks", "capacity-lowered-then-drained")

	run = b.claim(map[string]any{"maxTasks": 1})
	require.NoError(t, run.Get(t.Context(), &result))
	require.EqualValues(t, 1, result.Claimed)
	require.EqualValues(t, 1, result.Finished)
	n, err = b.left(t.Context(), b.queue)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	b.Record(b.id, "ClaimTasks", "max-tasks")
}

// Temporal's cancel stops the tasks and closes the claimer Canceled.
func TestCancelStopsTheTasks(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	b.put(b.queue, message(b.queue, 0, nap{Sleep: "1h"}))
	run := b.claim(nil)
	b.awaitStatus("it runs", func(s status) bool { return s.Running == 1 })
	require.NoError(t, b.Client.CancelWorkflow(t.Context(), b.id, ""))
	require.ErrorContains(t, run.Get(t.Context(), nil), "canceled")
	require.Equal(t, "worker-shutdown", b.awaitTask(b.queue, 0).Reason)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, b.taskStatus(t.Context(), b.queue, 0))
	b.Record(b.id, "ClaimTasks", "cancelled")
}

// A Task whose work is terminated, or that is cancelled itself, ends in order and
// says why.
func TestWorkThatIsEndedByOthers(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	killed, cancelled := b.queue+"-killed", b.queue+"-cancelled"
	for _, id := range []string{killed, cancelled} {
		b.put(b.queue, message(id, 0, nap{Sleep: "1h"}))
	}
	b.claim(nil)
	for _, id := range []string{killed, cancelled} {
		harness.Await(t, "its work runs", func(ctx context.Context) error {
			_, err := b.Client.DescribeWorkflow(ctx, "task/"+id+"/0/run", "")
			return err
		})
	}
	require.NoError(t, b.Client.TerminateWorkflow(t.Context(), "task/"+killed+"/0/run", "", "test"))
	require.NoError(t, b.Client.CancelWorkflow(t.Context(), "task/"+cancelled+"/0", ""))
	for id, reason := range map[string]string{killed: "internal-error", cancelled: "worker-shutdown"} {
		ended := b.awaitTask(id, 0)
		require.Equal(t, "EXCEPTION", ended.State)
		require.Equal(t, reason, ended.Reason)
		b.Record("task/"+id+"/0", "Task", reason)
	}
	b.awaitStatus("both are counted", func(s status) bool { return s.Finished == 2 && s.Failed == 2 && s.Running == 0 })
}

// A worker that is told to stop hands the polling over at once.
func TestWorkerStopHandsOver(t *testing.T) {
	b := newBench(t)
	first := b.StartWorker()
	b.claim(nil)
	b.awaitStatus("up", func(s status) bool { return len(s.Queues) == 1 })
	second := b.StartWorker()
	require.Zero(t, first.Stop(t))
	b.put(b.queue, message(b.queue, 0, nap{}))
	b.awaitStatus("the other goes on", func(s status) bool { return s.Finished == 1 })
	described, err := b.Client.DescribeWorkflow(t.Context(), b.id, "")
	require.NoError(t, err)
	for _, polling := range described.RawResponse.GetPendingActivities() {
		require.Nil(t, polling.GetLastFailure().GetTimeoutFailureInfo(), "it was handed over, not noticed to be lost")
	}
	require.True(t, second.Running())
	b.Record(b.id, "ClaimTasks", "worker-stopped")
}

// A job sends to a queue: 48 KiB go through, one byte more is refused before it
// is sent, a queue that is not there is NotFound.
func TestCaseA15SendChecksTheEncodedSize(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	send := func(queue string, bytes int) error {
		body := make([]byte, bytes)
		for i := range body {
			body[i] = 'x'
		}
		document, err := json.Marshal(map[string]any{"jobs": []any{map[string]any{
			"id": "send", "activity": "AzureQueue.Send", "input": map[string]any{"queue": queue, "body": string(body)}}}})
		require.NoError(t, err)
		return b.runRequest(document)
	}
	require.NoError(t, send(b.queue, 49_152))
	require.ErrorContains(t, send(b.queue, 49_153), "65540 bytes after encoding")
	require.ErrorContains(t, send(b.queue+"-none", 10), "AzureQueue.Send "+b.queue+"-none: HTTP 404 QueueNotFound")
	require.ErrorContains(t, send("No_Queue", 10), "is no name of an Azure queue")
	require.Equal(t, 1, b.Guard.Counters(t).Sum(harness.AzQueue, "PutMessage", b.queue).Calls)
}

// What runs is in the status and in the answers to capacity and drain, also long
// after a claimer began, task by task, and not only as long as something is saved up
// for telling it.
func TestStatusCapacityAndDrainTellWhatRuns(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	b.claim(map[string]any{"capacity": 20})
	const tasks = 10
	for i := range tasks {
		b.put(b.queue, message(fmt.Sprintf("%s-%d", b.queue, i), 0, nap{Sleep: "1h"}))
		b.awaitStatus("it is told", func(s status) bool { return s.Running == i+1 && s.Claimed == int64(i+1) })
	}
	s, err := b.update("capacity", `{"capacity":30}`)
	require.NoError(t, err)
	require.Equal(t, tasks, s.Running)
	s, err = b.update("drain", `{"wait":"1s"}`)
	require.NoError(t, err)
	require.Equal(t, tasks, s.Running)
	require.Len(t, s.Tasks, tasks)
}

// More than the 32 messages that a peek shows are seen by what the docs have an
// autoscaler ask, which is the queue's own length and, from Prometheus, the estimate.
func TestLongQueueIsSeenInWhole(t *testing.T) {
	b := newBench(t)
	for i := range 50 {
		b.put(b.queue, message(fmt.Sprintf("%s-%d", b.queue, i), 0, nap{Sleep: "1h"}))
	}
	worker := b.StartWorker()
	b.claim(map[string]any{"capacity": 1})
	series := regexp.MustCompile(`(?m)^sluice_claim_approximate\{[^}]*queue="` + b.queue + `"[^}]*\} (\d+)$`)
	harness.Await(t, "the estimate is measured", func(ctx context.Context) error {
		text, err := worker.Scrape(ctx)
		if err != nil {
			return err
		}
		found := series.FindStringSubmatch(text)
		if found == nil || found[1] != "49" {
			return fmt.Errorf("found %v", found)
		}
		return nil
	})
	docs, err := os.ReadFile("../../../docs/claiming.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(docs)
	require.NotNil(t, block)
	require.Contains(t, string(block[1]), "type: azure-queue", "without a worker nobody measures: the queue itself is asked")
	require.NotContains(t, string(block[1]), "sluice_claim_visible", "which is 32 at most")
}

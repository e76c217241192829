package claiming_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"sluice/tests/harness"
	"sluice/tests/taskservice"
)

// deliver takes messages from the test's queue n times, each time invisible for
// a second, so that the next delivery is number n+1.
func (b *bench) deliver(n int) {
	b.t.Helper()
	second, most := int32(1), int32(32)
	for i := range n {
		harness.Await(b.t, fmt.Sprintf("delivery %d", i+1), func(ctx context.Context) error {
			got, err := b.Queues.NewQueueClient(b.queue).DequeueMessages(ctx, &azqueue.DequeueMessagesOptions{
				NumberOfMessages: &most, VisibilityTimeout: &second})
			if err == nil && len(got.Messages) == 0 {
				err = fmt.Errorf("no message yet")
			}
			return err
		})
	}
}

// Visibility 5 s, the claim takes 18 s: the message is extended meanwhile and
// deleted at the first try. A lost answer to an extension does not start the
// task twice.
func TestCaseA01NewestReceiptDeletes(t *testing.T) {
	b, service := newBench(t), taskservice.Start(t)
	b.StartWorker()
	service.Payload(b.queue, nap{})
	service.Inject(taskservice.Fault{Operation: "claim", Delay: 18 * time.Second, Count: 1})
	in := withService(service, "3m")
	in["visibilityTimeout"] = "5s"
	b.put(b.queue, message(b.queue, 0, nothing()))
	b.claim(in)
	b.awaitRun(service, b.queue, "completed", inState("completed", ""))
	b.awaitEmpty(b.queue)
	counters := b.Guard.Counters(t)
	require.Equal(t, 1, counters.Sum(harness.AzQueue, "DeleteMessage", b.queue).Calls, "deleted at the first try")
	require.GreaterOrEqual(t, counters.Sum(harness.AzQueue, "UpdateMessage", b.queue).Calls, 3)
	require.Equal(t, 1, service.Run(b.queue, 0).Claims, "delivered once")

	lost := b.queue + "-lost"
	service.Payload(lost, nap{})
	b.Guard.Inject(t, harness.Fault{Service: harness.AzQueue, Operation: "UpdateMessage", Target: b.queue, Count: 1, Drop: "answer"})
	service.Inject(taskservice.Fault{Operation: "claim", TaskID: lost, Delay: 4 * time.Second, Count: 1})
	b.put(b.queue, message(lost, 0, nothing()))
	b.awaitRun(service, lost, "completed", inState("completed", ""))
	b.awaitEmpty(b.queue)
	require.Equal(t, 1, service.Run(lost, 0).Reports)
}

// One bad message of five: the four others run, the bad one is poisoned once,
// though its delete fails at first.
func TestCaseA03BadMessageHidesNoOther(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	for round, bad := range []string{"!!not-base64", `{"taskId":`, base64.StdEncoding.EncodeToString([]byte("null"))} {
		if round == 2 {
			b.Guard.Inject(t, harness.Fault{Service: harness.AzQueue, Operation: "DeleteMessage", Target: b.queue, Count: 1, Status: 500, Code: "InternalError"})
		}
		for i := range 5 {
			if i == 2 {
				b.put(b.queue, bad)
				continue
			}
			b.put(b.queue, message(fmt.Sprintf("%s-%d-%d", b.queue, round, i), 0, nap{}))
		}
	}
	b.claim(nil)
	s := b.awaitStatus("12 ran, 3 poisoned", func(s status) bool { return s.Finished == 12 && s.Poisoned == 3 })
	require.Zero(t, s.Failed)
	b.awaitEmpty(b.queue)
	records, err := b.poisoned(t.Context(), b.queue+"-poison")
	require.NoError(t, err)
	require.Len(t, records, 3)
	require.Contains(t, fmt.Sprint(records), "neither JSON nor base64")
	b.Record(b.id, "ClaimTasks", "poison")
}

// The count is looked at before anything is done: on first sight at or above the
// limit a message is poison and never runs.
func TestCaseA05PoisonBeforeProcessing(t *testing.T) {
	b := newBench(t)
	b.put(b.queue, message(b.queue+"-often", 0, nap{}))
	b.deliver(4)
	b.StartWorker()
	b.claim(map[string]any{"maxDequeueCount": 5, "warnDequeueCount": 5})
	b.put(b.queue, message(b.queue+"-fresh", 0, nap{}))
	b.awaitStatus("one poisoned, one ran", func(s status) bool { return s.Poisoned == 1 && s.Finished == 1 })
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, b.taskStatus(t.Context(), b.queue+"-often", 0))
	records, err := b.poisoned(t.Context(), b.queue+"-poison")
	require.NoError(t, err)
	require.Len(t, records, 1)
	require.EqualValues(t, 5, records[0]["dequeueCount"])
}

// Over the threshold is not run, though its delete fails again and again; the
// two thresholds are apart: at the lower one it is only warned of.
func TestCaseA17PoisonedIsNotClaimed(t *testing.T) {
	b := newBench(t)
	often, warned := b.queue+"-often", b.queue+"-warned"
	b.put(b.queue, message(often, 0, nap{}))
	b.deliver(2)
	b.put(b.queue, message(warned, 0, nap{}))
	b.deliver(1)
	b.Guard.Inject(t, harness.Fault{Service: harness.AzQueue, Operation: "DeleteMessage", Target: b.queue, Count: 4, Status: 500, Code: "InternalError"})
	worker := b.StartWorker()
	b.claim(map[string]any{"warnDequeueCount": 2, "maxDequeueCount": 3})
	b.awaitStatus("one poisoned, one ran", func(s status) bool { return s.Poisoned == 1 && s.Finished == 1 })
	b.awaitEmpty(b.queue)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, b.taskStatus(t.Context(), often, 0))
	require.Equal(t, "COMPLETED", b.awaitTask(warned, 0).State)
	require.Contains(t, worker.Logs(), "message is delivered often")
	records, err := b.poisoned(t.Context(), b.queue+"-poison")
	require.NoError(t, err)
	require.Len(t, records, 1)
}

// A claim that kills its worker comes back until it is poison; others run.
func TestCaseA05WorkerKilledWhileClaiming(t *testing.T) {
	b, service := newBench(t), taskservice.Start(t)
	killer, fresh := b.queue+"-killer", b.queue+"-fresh"
	service.Payload(fresh, nap{})
	service.Inject(taskservice.Fault{Operation: "claim", TaskID: killer, Delay: time.Hour})
	b.put(b.queue, message(killer, 0, nothing()))
	b.deliver(1)
	in := withService(service, "3m")
	in["maxDequeueCount"], in["visibilityTimeout"] = 3, "2s"
	b.claim(in)
	w := b.StartWorker()
	harness.Await(t, "the claim is under way", func(context.Context) error {
		if service.Calls("claim") == 0 {
			return fmt.Errorf("no claim")
		}
		return nil
	})
	w.Kill()
	b.put(b.queue, message(fresh, 0, nothing()))
	b.StartWorker()
	b.awaitStatus("poisoned at the third delivery", func(s status) bool { return s.Poisoned == 1 })
	b.awaitRun(service, fresh, "completed", inState("completed", ""))
}

// Copy and delete are apart: whatever fails, in the end there is one record with
// id, count, reason and text, and the original is gone.
func TestCaseA09CopyThenDelete(t *testing.T) {
	b := newBench(t)
	poison := b.queue + "-poison"
	b.NewAzureQueue(poison)
	b.StartWorker()
	deletes := func(f harness.Fault) harness.Fault {
		f.Service, f.Operation, f.Target = harness.AzQueue, "DeleteMessage", b.queue
		return f
	}
	b.Guard.Inject(t, deletes(harness.Fault{Count: 1, Status: 404, Code: "MessageNotFound", Work: true}))
	b.Guard.Inject(t, deletes(harness.Fault{From: 2, Count: 3, Status: 500, Code: "InternalError"}))
	b.Guard.Inject(t, deletes(harness.Fault{From: 5, Count: 1, Drop: "answer"}))
	for i := range 3 {
		b.put(b.queue, fmt.Sprintf("bad %d", i))
	}
	b.claim(nil)
	b.awaitStatus("all poisoned", func(s status) bool { return s.Poisoned == 3 })
	b.awaitEmpty(b.queue)
	records, err := b.poisoned(t.Context(), poison)
	require.NoError(t, err)
	require.Len(t, records, 3)
	bodies := map[any]bool{}
	for _, r := range records {
		bodies[r["body"]] = true
		require.NotEmpty(t, r["messageId"])
		require.NotEmpty(t, r["reason"])
		require.EqualValues(t, 1, r["dequeueCount"])
	}
	require.Len(t, bodies, 3)
}

// A copy that fails must not be followed by the delete.
func TestCaseA09NoDeleteWithoutCopy(t *testing.T) {
	b := newBench(t)
	poison := b.queue + "-poison"
	b.NewAzureQueue(poison)
	b.StartWorker()
	fault := b.Guard.Inject(t, harness.Fault{Service: harness.AzQueue, Operation: "PutMessage", Target: poison, Status: 503, Code: "ServerBusy"})
	b.put(b.queue, "bad")
	b.claim(map[string]any{"visibilityTimeout": "2s"})
	b.awaitStatus("the failure is told", func(s status) bool {
		return len(s.Queues) == 1 && strings.Contains(s.Queues[0].LastError, "poison queue")
	})
	require.Zero(t, b.Guard.Counters(t).Sum(harness.AzQueue, "DeleteMessage", b.queue).Calls)
	n, err := b.left(t.Context(), b.queue)
	require.NoError(t, err)
	require.EqualValues(t, 1, n)
	b.Guard.Clear(t, fault)
	b.awaitStatus("poisoned", func(s status) bool { return s.Poisoned == 1 })
	b.awaitEmpty(b.queue)
}

// A repeat of a delete that had worked is done; a 400 is reported once and not
// repeated; a 403 is tried again.
func TestCaseA12LostAnswersOfDeletes(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	inject := func(f harness.Fault) {
		f.Service, f.Operation, f.Target, f.Count = harness.AzQueue, "DeleteMessage", b.queue, 1
		b.Guard.Inject(t, f)
	}
	deletes := func() int { return b.Guard.Counters(t).Sum(harness.AzQueue, "DeleteMessage", b.queue).Calls }

	inject(harness.Fault{Drop: "answer"})
	b.put(b.queue, message(b.queue+"-lost", 0, nap{}))
	b.claim(map[string]any{"visibilityTimeout": "4s"})
	b.awaitStatus("ran", func(s status) bool { return s.Finished == 1 })
	harness.Await(t, "repeated once", func(context.Context) error {
		if n := deletes(); n != 2 {
			return fmt.Errorf("%d deletes", n)
		}
		return nil
	})

	inject(harness.Fault{Status: 403, Code: "AuthenticationFailed"})
	b.put(b.queue, message(b.queue+"-forbidden", 0, nap{}))
	b.awaitStatus("ran", func(s status) bool { return s.Finished == 2 })
	b.awaitEmpty(b.queue)
	require.Equal(t, 4, deletes())

	inject(harness.Fault{Status: 400, Code: "OutOfRangeInput"})
	b.put(b.queue, message(b.queue+"-refused", 0, nap{}))
	b.awaitStatus("reported", func(s status) bool {
		return s.Finished == 3 && len(s.Queues) > 0 && strings.Contains(s.Queues[0].LastError, "400 OutOfRangeInput")
	})
	b.awaitEmpty(b.queue) // comes back after its 4 s, is recognised and deleted
	s := b.awaitStatus("still once", func(s status) bool { return s.Running == 0 })
	require.EqualValues(t, 3, s.Claimed)
}

// The loop outlives a queue that vanishes and comes back, and connection
// failures; the other queue goes on, and the history stays small.
func TestCaseA13LoopOutlivesErrors(t *testing.T) {
	b := newBench(t)
	low := b.queue + "-low"
	b.NewAzureQueue(low)
	b.StartWorker()
	for _, f := range []harness.Fault{
		{Count: 3, Status: 404, Code: "QueueNotFound"},
		{From: 4, Count: 1, Status: 409, Code: "QueueBeingDeleted"},
		{From: 5, Count: 1, Drop: "request"},
	} {
		f.Service, f.Operation, f.Target = harness.AzQueue, "GetMessages", b.queue
		b.Guard.Inject(t, f)
	}
	b.put(b.queue, message(b.queue+"-high", 0, nap{}))
	b.put(low, message(b.queue+"-low", 0, nap{}))
	b.claim(map[string]any{"queues": []any{map[string]string{"name": b.queue}, map[string]string{"name": low}}})
	b.awaitStatus("the low queue goes on, the error is told", func(s status) bool {
		return s.Finished == 1 && len(s.Queues) > 0 && s.Queues[0].Errors > 0 && strings.Contains(s.Queues[0].LastError, "QueueNotFound")
	})
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, b.taskStatus(t.Context(), b.queue+"-high", 0))
	b.awaitStatus("recovered by itself", func(s status) bool { return s.Finished == 2 })
	all, _ := b.history(b.id)
	require.Less(t, all, 60)
	b.Record(b.id, "ClaimTasks", "errors")
}

// The estimate decides nothing: drain ends while it is above zero, and the
// claimer neither claims ghosts nor shows invisible messages as visible.
func TestCaseA19LengthIsAnEstimate(t *testing.T) {
	b := newBench(t)
	for i := range 10 {
		b.put(b.queue, message(fmt.Sprintf("%s-%d", b.queue, i), 0, nap{}))
	}
	hour, n := int32(3600), int32(10)
	_, err := b.Queues.NewQueueClient(b.queue).DequeueMessages(t.Context(), &azqueue.DequeueMessagesOptions{NumberOfMessages: &n, VisibilityTimeout: &hour})
	require.NoError(t, err)
	b.StartWorker()
	run := b.claim(nil)
	b.awaitStatus("shown as such", func(s status) bool {
		return len(s.Queues) == 1 && s.Queues[0].Visible == 0 && s.Queues[0].Invisible == 10 && s.Queues[0].Approximate == 10
	})
	_, err = b.update("drain", `{}`)
	require.NoError(t, err)
	var result status
	require.NoError(t, run.Get(t.Context(), &result))
	require.Zero(t, result.Claimed)
}

// What the server refuses of the claimer's own doing, and not for a message, poisons
// none: all stay on the queue, and the status tells. The server is told to take
// shorter names than the IDs of these tasks.
func TestRefusedSettingsPoisonNoMessage(t *testing.T) {
	b := newBenchOn(t, harness.Options{Own: true, Args: []string{"--dynamic", "limit.maxIDLength=70"}})
	b.StartWorker()
	for i := range 3 {
		b.put(b.queue, message(fmt.Sprintf("%d-%s", i, strings.Repeat("x", 62)), 0, nap{}))
	}
	b.claim(map[string]any{"maxDequeueCount": 2})
	s := b.awaitStatus("it is told", func(s status) bool {
		return len(s.Queues) == 1 && strings.Contains(s.Queues[0].LastError, "claiming has stopped")
	})
	require.Zero(t, s.Poisoned)
	require.Zero(t, s.Claimed)
	n, err := b.left(t.Context(), b.queue)
	require.NoError(t, err)
	require.EqualValues(t, 3, n)
	_, err = b.poisoned(t.Context(), b.queue+"-poison")
	require.ErrorContains(t, err, "QueueNotFound", "nothing was ever poisoned")
}

// A record that somebody moves from the poison queue back to the queue by hand is
// claimed as the task that it was.
func TestPoisonMovedBackByHandIsClaimed(t *testing.T) {
	b := newBench(t)
	b.put(b.queue, message(b.queue, 0, nap{}))
	b.deliver(2)
	b.StartWorker()
	b.claim(map[string]any{"maxDequeueCount": 3, "warnDequeueCount": 3})
	b.awaitStatus("it is poison", func(s status) bool { return s.Poisoned == 1 })
	poison := b.Queues.NewQueueClient(b.queue + "-poison")
	got, err := poison.DequeueMessage(t.Context(), nil)
	require.NoError(t, err)
	require.Len(t, got.Messages, 1)
	b.put(b.queue, *got.Messages[0].MessageText)
	b.awaitStatus("it ran", func(s status) bool { return s.Finished == 1 && s.Failed == 0 })
	require.Equal(t, "COMPLETED", b.awaitTask(b.queue, 0).State)
	b.awaitEmpty(b.queue)
}

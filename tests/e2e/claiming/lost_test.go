package claiming_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// loseWorker has a claimer start tasks and kills its only worker, before or after
// the claimer has been told of them, and starts another.
func (b *bench) loseWorker(tasks int64, sleep string) {
	b.t.Helper()
	worker := b.StartWorker()
	for i := range tasks {
		b.put(b.queue, message(fmt.Sprintf("%s-%d", b.queue, i), 0, nap{Sleep: sleep}))
	}
	harness.Await(b.t, "the tasks are started", func(ctx context.Context) error {
		n, err := b.countTasks(ctx, "")
		if err == nil && n < tasks {
			err = fmt.Errorf("%d are", n)
		}
		return err
	})
	worker.Kill()
	b.StartWorker()
}

// A stop that comes while the only worker is lost stops every task, also those that
// only the worker's last heartbeat knows.
func TestStopWhileTheClaimersWorkerIsLost(t *testing.T) {
	b := newBench(t)
	run := b.claim(map[string]any{"visibilityTimeout": "20s"})
	b.loseWorker(3, "1h")
	_, err := b.update("stop", `{"reason":"enough"}`)
	require.NoError(t, err)
	var result status
	require.NoError(t, run.Get(t.Context(), &result))
	require.Equal(t, "STOPPED", result.State)
	require.EqualValues(t, 3, result.Claimed)
	require.EqualValues(t, 3, result.Finished)
	require.EqualValues(t, 3, result.Failed)
	for i := range 3 {
		require.Equal(t, "worker-shutdown", b.awaitTask(fmt.Sprintf("%s-%d", b.queue, i), 0).Reason)
	}
	b.Record(b.id, "ClaimTasks", "stopped-while-the-worker-is-lost")
}

// Capacity and drain that come while the only worker is lost hold for the next.
func TestCapacityAndDrainWhileTheClaimersWorkerIsLost(t *testing.T) {
	b := newBench(t)
	run := b.claim(map[string]any{"capacity": 3, "visibilityTimeout": "20s"})
	b.loseWorker(3, "20s")
	s, err := b.update("capacity", `{"capacity":1}`)
	require.NoError(t, err)
	require.Equal(t, 1, s.Capacity)
	b.put(b.queue, message(b.queue+"-never", 0, nap{}))
	_, err = b.update("drain", `{"wait":"1s"}`)
	require.NoError(t, err)
	var result status
	require.NoError(t, run.Get(t.Context(), &result))
	require.Equal(t, "STOPPED", result.State)
	require.Equal(t, 1, result.Capacity)
	require.EqualValues(t, 3, result.Claimed)
	require.EqualValues(t, 3, result.Finished)
	require.Zero(t, result.Failed)
	b.Record(b.id, "ClaimTasks", "drained-while-the-worker-is-lost")
}

// A claimer whose polling activity no worker has begun ends when it is told to.
func TestClaimerEndsThoughNoWorkerPolls(t *testing.T) {
	for message, input := range map[string]string{"drain": `{}`, "stop": `{"reason":"enough"}`} {
		t.Run(message, func(t *testing.T) {
			b := newBench(t)
			b.StartWorkflowsOnly()
			run := b.claim(nil)
			b.AwaitUnbegun(b.id)
			_, err := b.update(message, input)
			require.NoError(t, err)
			var result status
			require.NoError(t, run.Get(t.Context(), &result))
			require.Equal(t, "STOPPED", result.State)
			require.Zero(t, result.Claimed)
			b.Record(b.id, "ClaimTasks", message+"-never-begun")
		})
	}
}

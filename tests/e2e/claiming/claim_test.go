package claiming_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// Tasks are claimed, run, counted, and their messages deleted; drain ends the
// claimer with its books as the result.
func TestClaimedTasksRunOnce(t *testing.T) {
	b := newBench(t)
	b.StartWorker()
	for i := range 40 {
		b.put(b.queue, message(fmt.Sprintf("%s-%d", b.queue, i), 0, nap{}))
	}
	b.put(b.queue, message(b.queue+"-0", 0, nap{})) // a double
	run := b.claim(map[string]any{"capacity": 10})
	b.awaitStatus("40 tasks finished", func(s status) bool { return s.Finished == 40 && s.Running == 0 })
	b.awaitEmpty(b.queue)
	_, err := b.update("drain", `{"wait":"1m"}`)
	require.NoError(t, err)
	var result status
	require.NoError(t, run.Get(t.Context(), &result))
	require.Equal(t, "STOPPED", result.State)
	require.EqualValues(t, 40, result.Claimed)
	require.EqualValues(t, 40, result.Finished)
	require.Zero(t, result.Failed)
	require.Equal(t, "COMPLETED", b.awaitTask(b.queue+"-7", 0).State)
	all, bare := b.history(b.id)
	t.Logf("history: %d events, %d without workflow tasks", all, bare)
	b.Record(b.id, "ClaimTasks", "drained")
	b.Record("task/"+b.queue+"-7/0", "Task", "completed")
}

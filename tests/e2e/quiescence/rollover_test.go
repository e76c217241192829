package quiescence_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
)

// Signals that come while the run continues as new are counted, each once.
func TestCaseQ14SignalsSurviveTheRollOver(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	id := s.Name("watch")
	run := watch(t, s, id, `{"source":{"signal":{}},"repeats":2,"delay":{"base":"3s"}}`)
	const senders, each = 8, 450
	var wg sync.WaitGroup
	for range senders {
		wg.Go(func() {
			for range each {
				if err := s.Client.SignalWorkflow(t.Context(), id, "", "observed", json.RawMessage(`{"count":1}`)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	first := run.GetRunID()
	r := resultOf(t, run)
	require.Equal(t, "quiet", r.Reason)
	require.EqualValues(t, senders*each, r.Count)
	described, err := s.Client.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	last := described.RawResponse.GetWorkflowExecutionInfo()
	require.NotEqual(t, first, last.GetExecution().GetRunId(), "it has continued as new")
	s.Record(id, "Quiescence", "rolled-over")
}

// A killed counting worker and two monitors of one queue leave the count exact.
func TestCaseQ04KilledCountingWorkersOnTheStack(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	counts, url := s.NewTable(harness.Table{}), s.NewQueue(map[string]string{"VisibilityTimeout": "5"})
	worker := s.StartWorker()
	first, second := monitor(t, s, url, counts, ""), monitor(t, s, url, counts, "")
	const objects = 400
	var bodies []string
	for i := range objects {
		put := record("ObjectCreated:Put", "b", fmt.Sprintf("part+%d", i), fmt.Sprintf("%04X", 2*i))
		bodies = append(bodies, records(put), records(put))
		if i%10 == 0 {
			bodies = append(bodies, records(record("ObjectRemoved:Delete", "b", fmt.Sprintf("part+%d", i), fmt.Sprintf("%04X", 2*i+1))))
		}
	}
	for from := 0; from < len(bodies); from += 300 {
		send(t, s, url, bodies[from:min(from+300, len(bodies))]...)
		time.Sleep(300 * time.Millisecond) // somewhere amid the writes
		worker.Kill()
		worker = s.StartWorker()
	}
	awaitCount(t, s, counts, "b", objects-objects/10)
	for _, run := range []client.WorkflowRun{first, second} {
		var st countStatus
		update(t, s, run.GetID(), "drain", `{"wait":"1m"}`, &st)
		require.NoError(t, run.Get(t.Context(), &st))
		require.Equal(t, "DONE", st.State)
	}
	require.EqualValues(t, objects-objects/10, counterOf(t, s, counts, "b").records)
	s.Record(first.GetID(), "CountObjects", "killed")
}

func TestStarterCounts(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	counts, url := s.NewTable(harness.Table{}), s.NewQueue(nil)
	id := "count/" + nameOf(url)
	s.Starter("count", "run", "--queue-url", url, "--table", counts).OK(t)
	out := s.Starter("count", "run", "--queue-url", url, "--table", counts).Exits(t, 1)
	require.Contains(t, out.Stderr, "already running")
	send(t, s, url, records(record("ObjectCreated:Put", "b", "k", "01")))
	awaitCount(t, s, counts, "b", 1)
	out = s.Starter("count", "status", id).Exits(t, 3)
	require.Contains(t, out.Stdout, `"events": 1`)
	out = s.Starter("count", "stop", id).OK(t)
	require.Contains(t, out.Stdout, `"state": "STOPPED"`)
	require.NoError(t, s.Client.GetWorkflow(t.Context(), id, "").Get(t.Context(), nil))
	s.Starter("count", "status", id).OK(t)
	s.Record(id, "CountObjects", "stopped")

	s.Starter("count", "run", "--table", counts).Exits(t, 2)
	out = s.Starter("count", "run", "--queue-url", url, "--table", "no-such-table", "--wait").Exits(t, 1)
	require.Contains(t, out.Stderr, "NotFound")
	out = s.Starter("count", "run", "--queue-url", url+"-gone", "--table", counts, "--wait").Exits(t, 1)
	require.Contains(t, out.Stderr, "NotFound")
}

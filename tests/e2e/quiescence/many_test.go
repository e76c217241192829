package quiescence_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
)

// polls is how often a worker has polled, whatever the target.
func polls(t *testing.T, w *harness.Worker) (sum float64) {
	t.Helper()
	text, err := w.Scrape(t.Context())
	require.NoError(t, err)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), "} "); ok && strings.HasPrefix(name, "sluice_quiescence_polls") {
			n, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err)
			sum += n
		}
	}
	return sum
}

// Watches of one table that poll far apart poll together, and each sees its own
// item: one that changes, ones that do not, one that is not there, one whose key is
// none of the table's.
func TestManyWatchesOfOneTable(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	counts := s.NewTable(harness.Table{})
	document := `{"source":{"dynamodb":{"table":%q,"key":%s}},"repeats":1,"minRecords":%d,"delay":{"base":"20s"}}`
	begin := func(key string, least int) client.WorkflowRun {
		return watch(t, s, s.Name("many"), fmt.Sprintf(document, counts, key, least))
	}
	const still = 8
	var same []client.WorkflowRun
	for i := range still {
		setCountOf(t, s, counts, fmt.Sprint(i), 100+i)
		same = append(same, begin(fmt.Sprintf(`{"id":{"S":"%d"}}`, i), 0))
	}
	setCountOf(t, s, counts, "moves", 1)
	moves, absent, wrong := begin(`{"id":{"S":"moves"}}`, 2), begin(`{"id":{"S":"absent"}}`, 0), begin(`{"id":{"N":"1"}}`, 0)
	awaitLive(t, s, moves.GetID(), "has polled", func(st status) bool { return st.Polls >= 1 })
	setCountOf(t, s, counts, "moves", 2)

	for i, run := range same {
		r := resultOf(t, run)
		require.Equal(t, "quiet", r.Reason)
		require.EqualValues(t, 100+i, r.Count)
		require.EqualValues(t, 2, r.Polls, "successful ones")
	}
	r := resultOf(t, moves)
	require.EqualValues(t, 2, r.Count)
	require.GreaterOrEqual(t, r.Polls, int64(3), "a change that a later one saw, and one without")
	require.Zero(t, resultOf(t, absent).Count)
	st := awaitLive(t, s, wrong.GetID(), "fails for itself", func(st status) bool { return st.FailedPolls > 0 })
	require.Zero(t, st.Polls)
	require.Contains(t, st.LastError, "InvalidInput")
}

// What was terminated asks for nothing any more: the next heartbeat tells.
func TestTerminatedWatchPollsNoMore(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	worker := s.StartWorker()
	counts := s.NewTable(harness.Table{})
	setCount(t, s, counts, 3)
	id := s.Name("terminated")
	watch(t, s, id, `{`+counterSource(counts)+`,"repeats":1000,"delay":{"base":"300ms"}}`)
	awaitLive(t, s, id, "has polled a few times", func(st status) bool { return st.Repeats >= 3 })
	s.Temporal("workflow", "terminate", "--workflow-id", id).OK(t)
	last, since := polls(t, worker), time.Now()
	harness.Await(t, "it polls no more", func(context.Context) error {
		if now := polls(t, worker); now != last {
			last, since = now, time.Now()
		}
		if quiet := time.Since(since); quiet < 5*time.Second {
			return fmt.Errorf("%v polls, the last %s ago", last, quiet)
		}
		return nil
	})
	require.True(t, worker.Running())
}

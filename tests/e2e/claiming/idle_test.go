package claiming_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// An idle claimer polls its queue and asks Temporal next to nothing meanwhile: no query
// of its own workflow, and a heartbeat every ten seconds at most.
func TestIdleClaimerAsksTemporalNextToNothing(t *testing.T) {
	b := newBench(t)
	worker := b.StartWorker()
	b.claim(nil)
	b.awaitStatus("it has told of its queue", func(s status) bool { return len(s.Queues) == 1 && s.Queues[0].LastError == "" })
	polls := func() int { return b.Guard.Counters(t).Sum(harness.AzQueue, "GetMessages", b.queue).Calls }
	awaitPolls := func(n int) {
		harness.Await(t, fmt.Sprintf("poll %d", n), func(context.Context) error {
			if made := polls(); made < n {
				return fmt.Errorf("%d polls", made)
			}
			return nil
		})
	}
	awaitPolls(polls() + 3) // the activity after the first report has begun
	requests := func(operation string) (sum int) {
		text, err := worker.Scrape(t.Context())
		require.NoError(t, err)
		counter := regexp.MustCompile(`(?m)^temporal_request(?:_total)?\{[^}]*operation="` + operation + `"[^}]*\} (\d+)$`)
		for _, found := range counter.FindAllStringSubmatch(text, -1) {
			n, err := strconv.Atoi(found[1])
			require.NoError(t, err)
			sum += n
		}
		return sum
	}
	queries, beats := requests("QueryWorkflow"), requests("RecordActivityTaskHeartbeat")
	require.Positive(t, queries, "the first one is counted, so others would be")
	const more = 25 // a second apart at most
	awaitPolls(polls() + more)
	require.Equal(t, queries, requests("QueryWorkflow"))
	require.LessOrEqual(t, requests("RecordActivityTaskHeartbeat")-beats, more/2)

	// And yet it hears of what it is told at once.
	s, err := b.update("capacity", `{"capacity":3}`)
	require.NoError(t, err)
	require.Equal(t, 3, s.Capacity)
	harness.Await(t, "it asks again", func(context.Context) error {
		if requests("QueryWorkflow") == queries {
			return fmt.Errorf("it has not")
		}
		return nil
	})
}

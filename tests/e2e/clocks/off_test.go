package clocks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// off is how far the clock of one worker is ahead, and that of the other behind.
const off = 3 * time.Minute

type watched struct {
	Reason     string
	Count      int64
	FinishedAt time.Time
}

// A watch that goes from a worker to one whose clock is six minutes ahead, or behind,
// is not quiet sooner for that, nor for ever.
func TestAWatchFallsQuietByTheTimeThatPassesWhateverTheClocks(t *testing.T) {
	t.Parallel()
	for name, clocks := range map[string][2]time.Duration{"behind, then ahead": {-off, off}, "ahead, then behind": {off, -off}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.Start(t)
			table, id := s.NewTable(harness.Table{}), "quiescence/"+s.Name("off")
			count(t, s, table, 1)
			first := s.StartWorkerAt(clocks[0])
			const quietFor = 6 * time.Second
			start(t, s, "quiescence", id, fmt.Sprintf(
				`{"source":{"dynamodb":{"table":%q,"key":{"id":{"S":"landing"}}}},"delay":{"base":"500ms"},"repeats":2,"quietFor":%q,"deadline":"10m"}`,
				table, quietFor))
			harness.Await(t, "it has seen the item", func(ctx context.Context) error {
				st, err := status[struct{ Count int64 }](ctx, s, id)
				if err == nil && st.Count != 1 {
					err = fmt.Errorf("count %d", st.Count)
				}
				return err
			})
			seen := s.Guard.Counters(t).Sum(harness.DynamoDB, "GetItem", table).Calls
			count(t, s, table, 2)
			changed := time.Now()
			harness.Await(t, "it has seen the change", func(ctx context.Context) error {
				if calls := s.Guard.Counters(t).Sum(harness.DynamoDB, "GetItem", table).Calls; calls < seen+2 {
					return fmt.Errorf("%d calls", calls)
				}
				return nil
			})
			s.StartWorkerAt(clocks[1])
			require.Zero(t, first.Stop(t))
			r, err := ended[watched](t, s, id)
			require.NoError(t, err)
			require.Equal(t, "quiet", r.Reason)
			require.EqualValues(t, 2, r.Count)
			require.GreaterOrEqual(t, time.Since(changed), quietFor)
			require.Less(t, time.Since(changed), quietFor+30*time.Second)
		})
	}
}

// Workers whose clocks differ keep to the capacity together, and waste little of it.
func TestWorkersWhoseClocksDifferShareTheCapacity(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	const capacity, items = 20, 300
	table := s.NewTable(harness.Table{Read: 20, Write: capacity})
	s.StartWorkerAt(off)
	s.StartWorkerAt(-off)
	jobs := make([]string, items)
	for i := range jobs {
		jobs[i] = fmt.Sprintf(`{"id":"put-%d","activity":"DynamoDB.PutItem","input":{"TableName":%q,"Item":{"id":{"S":"%d"}}}}`, i, table, i)
	}
	id := "request/" + s.Name("puts")
	began := time.Now()
	start(t, s, "request", id, `{"jobs":[`+strings.Join(jobs, ",")+`]}`)
	r, err := ended[struct{ State string }](t, s, id)
	require.NoError(t, err)
	require.Equal(t, "COMPLETE", r.State)
	counted := s.Guard.Counters(t).Sum(harness.DynamoDB, "PutItem", table)
	require.LessOrEqual(t, counted.Throttled, items/20, "%+v", counted)
	require.Less(t, time.Since(began), 8*items/capacity*time.Second)
}

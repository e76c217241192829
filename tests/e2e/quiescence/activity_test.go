package quiescence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"sluice/tests/harness"
)

// backlog is a user's activities on a task queue of its own: one tells the version
// and count of something, the other is what follows.
type backlog struct {
	mu      sync.Mutex
	version any
	count   int64
	asked   []string // inputs of Look
	merged  []string // activity ID and input of Merge
}

func (b *backlog) set(version any, count int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.version, b.count = version, count
}

// Look answers {"version","count"} and a field of its own.
func (b *backlog) Look(_ context.Context, raw json.RawMessage) (map[string]any, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.asked = append(b.asked, string(raw))
	return map[string]any{"version": b.version, "count": b.count, "source": "user"}, nil
}

// Merge is what `then` runs.
func (b *backlog) Merge(ctx context.Context, raw json.RawMessage) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.merged = append(b.merged, activity.GetInfo(ctx).ActivityID+" "+string(raw))
	return nil
}

func startBacklog(t *testing.T, s *harness.Stack, taskQueue string) *backlog {
	t.Helper()
	c, err := client.Dial(client.Options{
		HostPort: s.Env("TEMPORAL_ADDRESS"), Namespace: s.Env("TEMPORAL_NAMESPACE"),
		Logger: temporallog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	require.NoError(t, err)
	b := &backlog{version: "v1", count: 1}
	w := worker.New(c, taskQueue, worker.Options{})
	w.RegisterActivityWithOptions(b.Look, activity.RegisterOptions{Name: "Backlog.Look"})
	w.RegisterActivityWithOptions(b.Merge, activity.RegisterOptions{Name: "Backlog.Merge"})
	require.NoError(t, w.Start())
	t.Cleanup(func() { w.Stop(); c.Close() })
	return b
}

// A user's activity on another task queue is the source: its versions are what
// changes, of whatever JSON they are, then it is quiet, and `then` runs another
// activity there, under the key as its ID.
func TestActivitySourceOfAUser(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	users := s.Name("users")
	b := startBacklog(t, s, users)
	id := s.Name("watch")
	run := watch(t, s, id, fmt.Sprintf(`{"source":{"activity":{"name":"Backlog.Look","input":{"folder":"in"},"taskQueue":%q}},
		"repeats":4,"delay":{"base":"400ms"},"minRecords":3,
		"then":[{"activity":{"name":"Backlog.Merge","taskQueue":%[1]q}}]}`, users))
	awaitLive(t, s, id, "polls", func(st status) bool { return st.Repeats >= 1 && st.Count == 1 })
	b.set("v2", 1) // the count is the same: the version is what counts
	awaitLive(t, s, id, "saw the new version", func(st status) bool { return st.Repeats == 0 || st.Polls > 20 })
	b.set(map[string]any{"b": 2, "a": []int{1}}, 7)
	r := resultOf(t, run)
	require.Equal(t, "quiet", r.Reason)
	require.EqualValues(t, 7, r.Count)
	require.Zero(t, r.FailedPolls)
	require.GreaterOrEqual(t, r.Polls, int64(3+4))
	require.Len(t, r.Then, 1)
	require.True(t, r.Then[0].OK, r.Then[0].Error)

	b.mu.Lock()
	defer b.mu.Unlock()
	require.EqualValues(t, r.Polls, len(b.asked), "a poll is one call")
	require.JSONEq(t, `{"folder":"in"}`, b.asked[0])
	require.Len(t, b.merged, 1)
	require.Contains(t, b.merged[0], id+"/1/0 {")
	require.Contains(t, b.merged[0], `"reason":"quiet"`)
	require.Contains(t, b.merged[0], `"Backlog.Look"`)
	s.Record(id, "Quiescence", "activity-of-a-user")
	s.Record(id+"/poll", "Poll", "activity-of-a-user")
}

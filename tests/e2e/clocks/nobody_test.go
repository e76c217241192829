package clocks_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/tests/harness"
)

// What becomes due while no worker is there is done at once by the one that comes, as
// of the instant at which it was due.
func TestWhatBecameDueWhileNobodyWasThereIsDoneByWhoComes(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	nobody := s.Name("nobody")
	job := fmt.Sprintf(`{"jobs":[{"id":"load","activity":"Load","taskQueue":%q}]`, nobody)
	expires, late, quiet, never := "request/"+s.Name("expires"), "request/"+s.Name("late"), "quiescence/"+s.Name("quiet"), "quiescence/"+s.Name("never")
	gone := s.StartWorker()
	start(t, s, "request", expires, job+`}`)
	start(t, s, "request", late, job+`,"deadline":"8s"}`)
	start(t, s, "quiescence", quiet, `{"source":{"signal":{}},"quietFor":"6s","repeats":1,"delay":{"base":"1s"},"deadline":"1h"}`)
	start(t, s, "quiescence", never, `{"source":{"signal":{}},"deadline":"8s"}`)
	require.NoError(t, s.Client.SignalWorkflow(t.Context(), quiet, "", "observed", map[string]int{"count": 3}))
	s.Starter("request", "suspend", expires, "--ttl", "8s", "--wait", "0s").OK(t)
	harness.Await(t, "the signal was taken in", func(ctx context.Context) error {
		st, err := status[struct{ Count int64 }](ctx, s, quiet)
		if err == nil && st.Count != 3 {
			err = fmt.Errorf("count %d", st.Count)
		}
		return err
	})
	gone.Kill()
	due := time.Now().Add(9 * time.Second)
	harness.Await(t, "all is due", func(context.Context) error {
		if wait := time.Until(due); wait > 0 {
			return fmt.Errorf("in %s", wait)
		}
		return nil
	})
	came := time.Now()
	s.StartWorker("TZ=America/New_York") // whose clocks were put back a month ago

	_, err := ended[any](t, s, expires)
	require.Equal(t, activities.TypeExpired, activities.TypeOf(err), "%v", err)
	_, err = ended[any](t, s, late)
	require.Equal(t, activities.TypeRequestFailed, activities.TypeOf(err), "%v", err)
	require.ErrorContains(t, err, "deadline")
	for id, reason := range map[string]string{quiet: "quiet", never: "deadline"} {
		r, err := ended[watched](t, s, id)
		require.NoError(t, err)
		require.Equal(t, reason, r.Reason, id)
	}
	require.Less(t, time.Since(came), 30*time.Second)
	st, err := status[struct{ AsOf, CreatedAt string }](t.Context(), s, late)
	require.NoError(t, err)
	require.Regexp(t, `Z$`, st.AsOf, "instants are UTC, whatever a worker's time zone")
	require.Regexp(t, `Z$`, st.CreatedAt)
}

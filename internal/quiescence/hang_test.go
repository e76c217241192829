package quiescence

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/duration"
)

// A poll that hangs and shows no change says nothing: it neither raises nor resets the
// repeats, and stops the clock. One that shows a change shows it, however long it took.
func TestPollsThatHangAreNoQuietTime(t *testing.T) {
	for _, hang := range []time.Duration{Hanging, Hanging + 1, 8 * time.Second, 15 * time.Second, 30 * time.Second} {
		for _, quietFor := range []time.Duration{0, time.Minute} {
			r := rule(3)
			r.QuietFor = duration.Duration(quietFor)
			w := newWatch(r)
			hung := func(version string) string {
				w.now = w.state.NextPollAt
				reading, began := objects(version, 1), w.now
				reading.Slowest, w.now = hang, w.now.Add(hang)
				counts := w.state.Observe(w.rule, reading, began, w.now)
				require.Equal(t, version == "b" || hang <= Hanging, counts)
				return w.state.Decide(w.rule, w.now)
			}
			require.Empty(t, w.poll(objects("a", 1), nil))
			require.Empty(t, w.poll(objects("a", 1), nil))
			credit := w.state.Credit
			if hang <= Hanging {
				hung("a")
				require.Equal(t, 2, w.state.Repeats, "slow, but it does not hang")
				continue
			}
			for range 20 {
				require.Empty(t, hung("a"))
			}
			require.Equal(t, 1, w.state.Repeats)
			require.LessOrEqual(t, w.state.Credit, credit+10*time.Second, "the time up to the first of them")
			require.EqualValues(t, 20, w.state.FailedPolls)
			require.Contains(t, w.state.LastError, "hung for")
			require.Empty(t, hung("b"))
			require.Zero(t, w.state.Repeats, "a change is a change")
			require.Empty(t, w.state.LastError)
			if quietFor == 0 {
				require.Empty(t, w.poll(objects("b", 1), nil))
				require.Empty(t, w.poll(objects("b", 1), nil))
				require.Equal(t, ReasonQuiet, w.poll(objects("b", 1), nil))
			}
		}
	}
}

// A poll of many calls may take long, none of which hangs: it counts, but what it took
// is no quiet time.
func TestALongPollCountsButItsOwnTimeIsNoQuietTime(t *testing.T) {
	r := rule(2)
	r.QuietFor = duration.Duration(time.Minute)
	w := newWatch(r)
	long := func(took time.Duration) string {
		if w.state.NextPollAt.After(w.now) {
			w.now = w.state.NextPollAt
		}
		began := w.now
		w.now = w.now.Add(took)
		require.True(t, w.state.Observe(w.rule, objects("a", 1), began, w.now))
		return w.state.Decide(w.rule, w.now)
	}
	require.Empty(t, long(time.Minute))
	for i := range 5 {
		require.Emptyf(t, long(time.Minute), "poll %d", i)
		require.Equal(t, time.Duration(i+1)*10*time.Second, w.state.Credit, "the pauses between")
	}
	require.Equal(t, ReasonQuiet, long(time.Minute))
	require.EqualValues(t, 7, w.state.Polls)
}

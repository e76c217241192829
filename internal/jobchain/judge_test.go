package jobchain

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"sluice/internal/errortype"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestEveryFailureAskedToStopOrNot is the table of error types once more, by what
// becomes of the job.
func TestEveryFailureAskedToStopOrNot(t *testing.T) {
	const repeated, paused, counted, final = "repeated under its number", "STOPPED, repeated under its number", "counted, tried again", "FAIL"
	for _, c := range []struct {
		failure        Failure
		unasked, asked string
	}{
		{Failure{Type: errortype.Ambiguous}, final, final},
		{Failure{Type: errortype.Ambiguous, NonRetryable: true}, final, final},
		{Failure{Type: errortype.WorkerStopping}, repeated, paused},
		{Failure{Type: errortype.Throttled}, repeated, paused},
		{Failure{Type: errortype.Unavailable}, repeated, paused},
		{Failure{Type: "Timeout", HeartbeatLost: true}, repeated, paused},
		{Failure{Type: "Timeout"}, counted, paused},
		{Failure{Type: "Canceled"}, counted, paused},
		{Failure{Type: "Theirs"}, counted, paused},
		{Failure{}, counted, paused},
		{Failure{Type: "Theirs", NonRetryable: true}, final, paused},
		{Failure{Type: errortype.InvalidInput}, final, paused},
		{Failure{Type: errortype.ConditionFailed}, final, paused},
		{Failure{Type: errortype.Conflict}, final, paused},
		{Failure{Type: errortype.NotFound}, final, paused},
		{Failure{Type: errortype.AccessDenied}, final, paused},
		{Failure{Type: errortype.TooLarge}, final, paused},
		{Failure{Type: errortype.WorkerLost}, final, paused},
		{Failure{Type: errortype.Expired}, final, paused},
		{Failure{Type: errortype.RequestFailed}, final, paused},
	} {
		for _, asked := range []bool{false, true} {
			chain := newTestChain(t, `{"jobs":[{"id":"a","activity":"x","retry":1}]}`)
			require.Equal(t, "a/1", next(chain, start))
			end(chain, "a", start, End{Kind: Judge(c.failure, asked), Type: c.failure.Type, Random: 0.5})
			want := c.unasked
			if asked {
				want = c.asked
			}
			require.Equal(t, want, fateOf(chain), "%+v, asked: %v", c.failure, asked)
		}
	}
}

// fateOf is what became of job 0 after its first try.
func fateOf(c *Chain) string {
	state, repeat := c.View(0).State, c.ToRepeat(0, 1)
	switch {
	case state == Stopped && repeat && !c.Done():
		return "STOPPED, repeated under its number"
	case state == Pending && repeat:
		return "repeated under its number"
	case state == Pending && c.jobs[0].spent == 1:
		return "counted, tried again"
	default:
		return string(state)
	}
}

// TestATryAskedToStopIsRepeatedUnlessItMayHaveWritten: whatever a try that was
// asked to stop ends by, and however often, it is neither counted nor dropped;
// one whose write may have been applied is never dispatched again.
func TestATryAskedToStopIsRepeatedUnlessItMayHaveWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newTestChain(t, `{"jobs":[{"id":"a","activity":"x","retry":1},{"id":"b","activity":"x","after":["a"]}]}`)
		now, written := start, false
		types := append([]string{"", "Theirs", "Timeout", "Canceled"}, sortedKeys(verdicts)...)
		for n := range rapid.IntRange(1, 20).Draw(t, "suspensions") {
			require.Equal(t, "a/1", next(c, now))
			f := Failure{Type: rapid.SampledFrom(types).Draw(t, "type"), NonRetryable: rapid.Bool().Draw(t, "final"),
				HeartbeatLost: rapid.Bool().Draw(t, "lost")}
			e := End{Kind: Judge(f, true), Type: f.Type, IDSpent: rapid.Bool().Draw(t, "spent"), Checkpoint: json.RawMessage(fmt.Sprint(n))}
			end(c, "a", now, e)
			if written = f.Type == errortype.Ambiguous && !f.HeartbeatLost; written {
				break
			}
			require.Equal(t, Stopped, c.View(0).State)
			require.Equal(t, 1, c.View(0).Tries)
			if rapid.Bool().Draw(t, "roll") {
				c = rolled(t, c)
			}
			require.True(t, c.ToRepeat(0, 1))
			_, checkpoint := c.Peek(0)
			require.Equal(t, fmt.Sprint(n), string(checkpoint))
			c.Release()
			if !e.IDSpent {
				now = now.Add(time.Second)
			}
		}
		c.Release()
		if written {
			require.Equal(t, Fail, c.View(0).State)
			require.Empty(t, next(c, now.Add(time.Hour)), "never sent again")
			require.True(t, c.Done())
			return
		}
		require.Equal(t, "a/1", next(c, now), "at once")
	})
}

// TestAmbiguousWhileOthersWaitToBeResumed: the job is FAIL at once; the chain is
// not done before the others are.
func TestAmbiguousWhileOthersWaitToBeResumed(t *testing.T) {
	c := newTestChain(t, `{"jobs":[{"id":"a","activity":"x","retry":3},{"id":"b","activity":"x"}]}`)
	require.Equal(t, []string{"a/1", "b/1"}, []string{next(c, start), next(c, start)})
	end(c, "b", start, End{Kind: Judge(Failure{Type: "Canceled"}, true)})
	end(c, "a", start, End{Kind: Judge(Failure{Type: errortype.Ambiguous}, true), Type: errortype.Ambiguous})
	require.Equal(t, Fail, c.View(0).State)
	require.False(t, c.Done(), "b waits to be resumed")
	c.Release()
	require.Equal(t, "b/1", next(c, start.Add(time.Second)))
	end(c, "b", start, End{})
	require.True(t, c.Done())
	require.Equal(t, Fail, c.Outcome())
}

// The table says of each type what all others read in errortype.
func TestTheTableIsOfOneMindWithTheListOfTypes(t *testing.T) {
	for errType, v := range verdicts {
		require.Equal(t, errortype.Final(errType), v.unasked == Final, errType)
		require.Equal(t, errortype.Retryable(errType), v.unasked == Refused || v.unasked == Interrupted, errType)
	}
}

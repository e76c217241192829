package request

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/internal/wire"
)

func TestJobsRunAfterThoseTheyNameWithWhatTheseAnswered(t *testing.T) {
	w := newWorld(t).answers("List", map[string]any{"keys": []string{"a", "b"}}).answers("Load", map[string]int{"rows": 2}).answers("Tell", nil)
	r, err := w.run(`{"args":{"bucket":"in"},"jobs":[
		{"id":"tell","activity":"Tell","after":["load"],"input":{"rows":{"$from":"jobs.load.rows"}}},
		{"id":"load","activity":"Load","after":["list"],"input":{"first":{"$from":"jobs.list.keys[0]"},"bucket":{"$from":"args.bucket"}}},
		{"id":"list","activity":"List"}]}`)
	require.NoError(t, err)
	require.Equal(t, jobchain.Complete, r.State)
	require.Equal(t, 3, r.FinishedJobs)
	require.JSONEq(t, `{"first":"a","bucket":"in"}`, w.starts["Load"][0].input)
	require.JSONEq(t, `{"rows":2}`, w.starts["Tell"][0].input)
	require.JSONEq(t, `{"rows":2}`, string(r.Jobs["load"]))
}

func TestNoMoreJobsRunAtOnceThanMay(t *testing.T) {
	running, most := 0, 0
	w := newWorld(t).works("Wait", time.Minute)
	for i := range 4 {
		w.at(time.Duration(i)*time.Minute+30*time.Second, func() {
			running = 0
			for _, s := range w.states() {
				if s == jobchain.Running {
					running++
				}
			}
			most = max(most, running)
		})
	}
	_, err := w.run(`{"maxParallelJobs":2,"jobs":[{"id":"a","activity":"Wait"},{"id":"b","activity":"Wait"},{"id":"c","activity":"Wait"},{"id":"d","activity":"Wait"},{"id":"e","activity":"Wait"}]}`)
	require.NoError(t, err)
	require.Equal(t, 2, most)
}

func TestATryThatFailsIsRepeatedAsTheJobSays(t *testing.T) {
	theirs := func(context.Context, int) (any, error) {
		return nil, temporal.NewApplicationError("away", "Theirs")
	}
	for name, c := range map[string]struct {
		do      func(context.Context, int) (any, error)
		job     string
		tries   int
		fails   bool
		between time.Duration
	}{
		"until it succeeds": {func(ctx context.Context, try int) (any, error) {
			if try < 3 {
				return theirs(ctx, try)
			}
			return nil, nil
		}, `"retry":5,"retryWait":"1m"`, 3, false, time.Minute},
		"so often and no more":     {theirs, `"retry":2,"retryWait":"10s"`, 3, true, 10 * time.Second},
		"not without a word of it": {theirs, `"retry":0`, 1, true, 0},
		"not what never succeeds": {func(context.Context, int) (any, error) {
			return nil, activities.Fail(activities.TypeInvalidInput, activities.Failure{Message: "wrong"})
		}, `"retry":5,"retryWait":"1s"`, 1, true, 0},
		"an error of nobody's type": {func(context.Context, int) (any, error) { return nil, fmt.Errorf("boom") }, `"retry":1,"retryWait":"1s"`, 2, true, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).does("Job", c.do)
			document := `{"jobs":[{"id":"a","activity":"Job",` + c.job + `},{"id":"b","activity":"Job","after":["a"]}]}`
			if c.fails {
				s := w.failed(document, activities.TypeRequestFailed, "job a failed: ")
				require.Equal(t, jobchain.Fail, s.State)
				require.Equal(t, c.tries, s.Jobs[0].Tries)
				require.Equal(t, jobchain.Fail, s.Jobs[0].State)
				require.NotEmpty(t, s.Jobs[0].Error)
				require.Contains(t, s.LastError, "a: ")
				require.Equal(t, jobchain.Pending, s.Jobs[1].State, "what waits for it is not begun")
			} else {
				_, err := w.run(document)
				require.NoError(t, err)
			}
			starts := w.starts["Job"]
			for i := 1; i < c.tries; i++ {
				require.GreaterOrEqual(t, starts[i].after-starts[i-1].after, c.between)
			}
			value, err := w.QueryWorkflow(wire.QueryLog, json.RawMessage(`{"job":"a"}`))
			require.NoError(t, err)
			var log []Entry
			require.NoError(t, value.Get(&log))
			require.Len(t, log, c.tries, "an entry for each try")
		})
	}
}

func TestTheReasonNamesTheFirstThatFailedAndCountsTheOthers(t *testing.T) {
	w := newWorld(t).does("Job", func(context.Context, int) (any, error) {
		return nil, activities.Fail(activities.TypeNotFound, activities.Failure{Message: "no such table"})
	})
	s := w.failed(`{"jobs":[{"id":"a","activity":"Job"},{"id":"b","activity":"Job"},{"id":"c","activity":"Job"}]}`, activities.TypeRequestFailed,
		"failed: NotFound: no such table (and 2 more)")
	require.Equal(t, 3, len(s.Jobs))
}

func TestASuspendedRequestBeginsNothingUntilItIsResumed(t *testing.T) {
	w := newWorld(t).second("Job")
	w.at(time.Second, func() {
		w.updated("suspend", `{"reason":"a release","ttl":"2h","grace":"30s"}`, func(s *Status) {
			require.Equal(t, jobchain.Suspended, s.State)
			require.Equal(t, "a release", s.Reason)
			require.Contains(t, s.Notice, "expires at ")
			require.False(t, s.AlreadySuspended)
		})
	})
	w.at(time.Hour, func() {
		require.Equal(t, jobchain.Suspended, w.status().State)
		require.Equal(t, jobchain.Pending, w.states()[1])
		w.updated("suspend", `{}`, func(s *Status) { require.True(t, s.AlreadySuspended) })
		w.updated("resume", `{}`, func(s *Status) { require.Equal(t, jobchain.Running, s.State) })
		w.updated("resume", `{}`, func(s *Status) { require.True(t, s.AlreadyRunning) })
	})
	r, err := w.run(`{"jobs":[{"id":"a","activity":"Job","retry":1,"retryWait":"10s"},{"id":"b","activity":"Job","after":["a"]}]}`)
	require.NoError(t, err)
	require.Equal(t, 2, r.FinishedJobs)
	require.Greater(t, w.starts["Job"][1].after, 59*time.Minute, "the repeat waited, too")
}

func TestASuspensionThatNobodyEndsExpires(t *testing.T) {
	for ttl, ends := range map[string]time.Duration{`"ttl":"5m"`: 5*time.Minute + time.Second, `"reason":"the request's own"`: 20*time.Minute + time.Second} {
		w := newWorld(t).second("Job")
		w.at(time.Second, func() { w.SignalWorkflow("suspend", json.RawMessage(`{`+ttl+`,"grace":"1s"}`)) })
		s := w.failed(`{"suspendTTL":"20m","jobs":[{"id":"a","activity":"Job","retry":1,"retryWait":"10s"}]}`, activities.TypeExpired)
		require.Equal(t, ends, w.Now().Sub(w.began).Round(time.Second), ttl)
		require.Equal(t, jobchain.Fail, s.State)
	}
}

func TestAClaimIsItsHoldersAlone(t *testing.T) {
	var token int64
	w := newWorld(t).second("Job")
	w.at(time.Second, func() { w.updated("suspend", `{"ttl":"0s"}`) })
	claim := func(input string, want bool, holder string) {
		w.update("claim", input, func(answer any, err error) {
			require.NoError(t, err)
			a := answer.(*ClaimAnswer)
			require.Equal(t, want, a.Claimed)
			require.Equal(t, holder, a.Holder)
			if want {
				token = a.Token
			} else {
				require.Zero(t, a.Token, "the token is its holder's")
			}
		})
	}
	w.at(2*time.Second, func() { claim(`{"holder":"one","lease":"10m"}`, true, "one") })
	w.at(3*time.Second, func() { claim(`{"holder":"two"}`, false, "one") })
	w.at(4*time.Second, func() { w.refused("resume", `{"holder":"two"}`, activities.TypeConflict, "one") })
	w.at(5*time.Second, func() { w.refused("unclaim", `{"holder":"two"}`, activities.TypeConflict) })
	w.at(6*time.Second, func() { w.refused("resume", `{"holder":"one","token":99}`, activities.TypeConflict) })
	w.at(11*time.Minute, func() { claim(`{"holder":"two"}`, true, "two") })
	w.at(12*time.Minute, func() { w.updated("resume", fmt.Sprintf(`{"holder":"two","token":%d}`, token)) })
	_, err := w.run(`{"jobs":[{"id":"a","activity":"Job","retry":1,"retryWait":"10s"}]}`)
	require.NoError(t, err)
	require.GreaterOrEqual(t, w.Now().Sub(w.began), 12*time.Minute)
}

func TestStopAsksWhatRunsAndEndsAsStopped(t *testing.T) {
	w := newWorld(t).answers("Next", nil).works("Job", 5*time.Hour)
	w.at(time.Minute, func() { w.updated("stop", `{"reason":"enough","grace":"10s"}`) })
	r, err := w.run(`{"jobs":[{"id":"a","activity":"Job","heartbeat":"10m","timeout":"10h"},{"id":"b","activity":"Next","after":["a"]}]}`)
	require.NoError(t, err)
	require.Equal(t, jobchain.Stopped, r.State)
	require.Equal(t, []jobchain.State{jobchain.Stopped, jobchain.Pending}, w.states())
	require.Empty(t, w.starts["Next"])
	s := w.status()
	require.Equal(t, "enough", s.Reason)
	require.NotNil(t, s.FinishedAt)
}

func TestTemporalsCancelStopsTheJobsAndClosesIt(t *testing.T) {
	w := newWorld(t).works("Job", 5*time.Hour)
	w.at(time.Minute, w.CancelWorkflow)
	_, err := w.run(`{"jobs":[{"id":"a","activity":"Job","heartbeat":"10m","timeout":"10h"}]}`)
	var canceled *temporal.CanceledError
	require.ErrorAs(t, err, &canceled)
	require.Equal(t, []jobchain.State{jobchain.Stopped}, w.states())
}

func TestADeadlineEndsIt(t *testing.T) {
	w := newWorld(t).works("Job", 5*time.Hour)
	s := w.failed(`{"deadline":"1h","jobs":[{"id":"a","activity":"Job","heartbeat":"10m","timeout":"10h"}]}`, activities.TypeRequestFailed, "deadline")
	require.Equal(t, jobchain.Fail, s.State)
	require.Equal(t, time.Hour, w.Now().Sub(w.began).Round(time.Minute))
}

func TestASequenceIsRepeatedAsAWhole(t *testing.T) {
	w := newWorld(t).answers("First", "x")
	w.does("Second", func(_ context.Context, try int) (any, error) {
		if try == 1 {
			return nil, temporal.NewApplicationError("not yet", "Theirs")
		}
		return nil, nil
	})
	_, err := w.run(`{"sequences":{"s":{"retry":1,"retryWait":"1m"}},"jobs":[
		{"id":"a","activity":"First","sequence":"s"},{"id":"b","activity":"Second","sequence":"s","after":["a"]}]}`)
	require.NoError(t, err)
	require.Len(t, w.starts["First"], 2, "what succeeded before runs again")
	require.Len(t, w.starts["Second"], 2)
}

func TestAnExportGoesOnElsewhereWithoutWhatIsDone(t *testing.T) {
	w := newWorld(t).answers("Done", map[string]int{"n": 5}).works("Open", 5*time.Hour)
	var document json.RawMessage
	w.at(time.Minute, func() {
		value, err := w.QueryWorkflow(wire.QueryExport)
		require.NoError(t, err)
		require.NoError(t, value.Get(&document))
		w.updated("stop", `{}`)
	})
	_, err := w.run(`{"jobs":[{"id":"a","activity":"Done"},{"id":"b","activity":"Open","after":["a"],"heartbeat":"1h","timeout":"10h","input":{"n":{"$from":"jobs.a.n"}}}]}`)
	require.NoError(t, err)

	again := newWorld(t).answers("Done", nil).answers("Open", nil)
	r, err := again.run(string(document))
	require.NoError(t, err)
	require.Empty(t, again.starts["Done"], "it has succeeded")
	require.JSONEq(t, `{"n":5}`, again.starts["Open"][0].input)
	require.Equal(t, jobchain.Complete, r.State)
}

func TestViewsComeInPages(t *testing.T) {
	w := newWorld(t).answers("Job", nil)
	var jobs []byte
	for i := range 7 {
		if i > 0 {
			jobs = append(jobs, ',')
		}
		jobs = fmt.Appendf(jobs, `{"id":"j%d","activity":"Job"}`, i)
	}
	_, err := w.run(`{"jobs":[` + string(jobs) + `]}`)
	require.NoError(t, err)
	for input, want := range map[string][]string{
		`{"offset":5}`: {"j5", "j6"}, `{"offset":2,"limit":2}`: {"j2", "j3"}, `{"offset":9}`: nil, `{"limit":1}`: {"j0"},
	} {
		value, err := w.QueryWorkflow(wire.QueryStatus, json.RawMessage(input))
		require.NoError(t, err)
		var s Status
		require.NoError(t, value.Get(&s))
		var ids []string
		for _, j := range s.Jobs {
			ids = append(ids, j.ID)
		}
		require.Equal(t, want, ids, input)
		require.Equal(t, 7, s.TotalJobs)
	}
	for query, input := range map[string]string{wire.QueryStatus: `{"offset":-1}`, wire.QueryLog: `{"limit":2001}`} {
		_, err := w.QueryWorkflow(query, json.RawMessage(input))
		require.ErrorContains(t, err, "not ")
	}
	_, err = w.QueryWorkflow(wire.QueryLog, json.RawMessage(`{"job":"none"}`))
	require.ErrorContains(t, err, "there is no job none")
}

// Temporal takes 2,000 updates in a run; what is left is for those that matter.
func TestTheLastUpdatesAreKeptForResumeAndStop(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	r := &request{}
	gate := jobchain.Gate{State: jobchain.Running}
	claim := func() message { return &claimRequest{ClaimMessage: jobchain.ClaimMessage{Holder: "one"}} }
	suspend := func() message { return &suspendRequest{usual: 0} }
	suspended := gate
	require.NoError(t, r.spared(1, suspend(), &suspended, now))
	require.Equal(t, jobchain.Suspended, suspended.State)
	for n, c := range map[int]struct{ claims, idle bool }{1: {true, true}, claimableUpdates: {true, true}, claimableUpdates + 1: {false, true}, idleUpdates + 1: {false, false}} {
		g := suspended
		require.Equal(t, c.claims, r.spared(n, claim(), &g, now) == nil, n)
		g = suspended
		require.Equal(t, c.idle, r.spared(n, suspend(), &g, now) == nil, "suspends what is suspended, %d", n)
		g = suspended
		require.NoError(t, r.spared(n, &resumeRequest{}, &g, now), n)
	}
}

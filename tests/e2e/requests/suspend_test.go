package requests_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/tests/jobs/testjobs"
	"sluice/workflows"
	"sluice/workflows/request"
)

func TestSuspendStopsJobsAndResumeGoesOnFromTheirCheckpoints(t *testing.T) {
	b := newBench(t)
	until, release := b.hold()
	run := b.start(fmt.Sprintf(`{"jobs":[
		{"id":"a","activity":"Test.Job","heartbeat":"30s","input":{"until":%q,"checkpoints":true}},
		{"id":"b","activity":"Test.Job","after":["a"]}]}`, until))
	b.awaitCheckpoint(run, "a/1")
	s := b.must(run, "suspend", `{"reason":"deploy"}`)
	require.Equal(t, jobchain.Suspended, s.State)
	require.Equal(t, "deploy", s.Reason)
	require.Zero(t, s.Stopping, "answered when nothing stops any more")
	require.Equal(t, jobchain.Stopped, s.Jobs[0].State)
	require.NotNil(t, s.SuspendedAt)
	require.WithinDuration(t, s.SuspendedAt.Add(time.Hour), *s.ResumeBy, time.Second)
	require.True(t, b.must(run, "suspend", `{"reason":"again"}`).AlreadySuspended)
	require.Equal(t, "deploy", b.status(run).Reason)

	s = b.must(run, "resume", `{}`)
	require.Equal(t, jobchain.Running, s.State)
	require.Nil(t, s.SuspendedAt)
	release()
	result := b.result(run)
	require.NotContains(t, string(result.Jobs["a"]), `"from":0`, "went on from the checkpoint")
	log := b.log(run)
	require.Len(t, log, 2, "a suspended try is repeated under its number")
	require.Equal(t, 1, log[0].Try)
	require.Equal(t, jobchain.Complete, log[0].State)
	require.Equal(t, 2, b.jobs.Dispatches(run.GetID(), "a/1"))
	b.Record(run.GetID(), workflows.TypeRequest, "suspended-and-resumed-from-checkpoint")
}

func TestCaseR09SuspendingCountsNoTry(t *testing.T) {
	b := newBench(t)
	until, release := b.hold()
	run := b.start(fmt.Sprintf(`{"jobs":[{"id":"a","activity":"Test.Job","retry":2,"retryWait":"10s","heartbeat":"30s","input":{"until":%q,"failTries":1}}]}`, until))
	for range 5 {
		b.await(run, "a runs", jobRunning(0))
		b.must(run, "suspend", `{}`)
		require.Equal(t, 1, b.status(run).Jobs[0].Tries)
		b.must(run, "resume", `{}`)
	}
	// Suspended once more in the pause between try 1 and try 2.
	release()
	b.await(run, "try 1 has failed", func(s *request.Status) bool {
		return s.Jobs[0].State == "PENDING" && s.Jobs[0].Error != "" && len(s.Jobs[0].WaitsFor) > 0
	})
	s := b.must(run, "suspend", `{}`)
	require.Equal(t, jobchain.Pending, s.Jobs[0].State)
	b.must(run, "resume", `{}`)
	require.Equal(t, jobchain.Complete, b.result(run).State)
	log := b.log(run)
	require.Len(t, log, 2)
	require.Equal(t, []int{1, 2}, []int{log[0].Try, log[1].Try})
	require.Equal(t, jobchain.Fail, log[0].State)
	b.Record(run.GetID(), workflows.TypeRequest, "suspended-in-the-pause-before-a-retry")
}

func TestCaseR01ResumeStartsNothingTwice(t *testing.T) {
	t.Run("five resumes, two with a stale token", func(t *testing.T) {
		b := newBench(t)
		until, release := b.hold()
		run := b.start(fmt.Sprintf(`{"jobs":[{"id":"a","activity":"Test.Job","heartbeat":"30s","input":{"until":%q}}]}`, until))
		b.awaitStarted(run, "a/1")
		b.must(run, "suspend", `{}`)
		var claim request.ClaimAnswer
		require.NoError(t, b.updateInto(run, "claim", `{"holder":"one"}`, &claim))
		require.True(t, claim.Claimed)
		require.NoError(t, b.updateInto(run, "unclaim", `{"holder":"one","token":1}`, &claim))
		require.NoError(t, b.updateInto(run, "claim", `{"holder":"two"}`, &claim))
		require.Equal(t, int64(2), claim.Token)
		_, err := b.update(run, "resume", `{"holder":"one","token":1}`)
		require.Equal(t, activities.TypeConflict, activities.TypeOf(err), "%v", err)
		_, err = b.update(run, "resume", `{}`)
		require.Equal(t, activities.TypeConflict, activities.TypeOf(err))
		require.False(t, b.must(run, "resume", `{"holder":"two","token":2}`).AlreadyRunning)
		require.True(t, b.must(run, "resume", `{"holder":"one","token":1}`).AlreadyRunning)
		require.True(t, b.must(run, "resume", `{}`).AlreadyRunning)
		require.Nil(t, b.status(run).Claim)
		release()
		b.result(run)
		require.Equal(t, 2, b.jobs.Dispatches(run.GetID(), "a/1"))
		b.Record(run.GetID(), workflows.TypeRequest, "claimed-given-back-and-resumed-by-another")
	})
	t.Run("a job that outlives the grace is taken up again", func(t *testing.T) {
		b := newBench(t)
		until, release := b.hold()
		run := b.start(fmt.Sprintf(`{"jobs":[
			{"id":"a","activity":"Test.Job","heartbeat":"30s","input":{"until":%q,"ignoreCancel":true,"output":"mine"}},
			{"id":"b","activity":"Test.Job","after":["a"]}]}`, until))
		b.awaitStarted(run, "a/1")
		s := b.must(run, "suspend", `{"grace":"200ms"}`)
		require.Equal(t, jobchain.Suspended, s.State)
		require.Zero(t, s.Stopping)
		require.Equal(t, jobchain.Running, s.Jobs[0].State, "left running")
		s = b.must(run, "resume", `{}`)
		require.Equal(t, jobchain.Running, s.Jobs[0].State)
		release()
		require.Equal(t, `"mine"`, string(b.result(run).Jobs["a"]))
		require.Equal(t, 1, b.jobs.Dispatches(run.GetID(), "a/1"), "never a second dispatch")
		b.Record(run.GetID(), workflows.TypeRequest, "job-outlives-the-grace-and-is-taken-up-again")
	})
}

func TestCaseR17SuspendedIsAliveAndLeavesNothingHalfSet(t *testing.T) {
	b := newBench(t)
	document := `{"jobs":[` + oneLongJob + `]}`
	for _, c := range []struct {
		name string
		end  func(t *testing.T, id string)
		want string
	}{
		{"cancel", func(t *testing.T, id string) { require.NoError(t, b.c.CancelWorkflow(t.Context(), id, "")) }, "Canceled"},
		{"stop", func(t *testing.T, id string) {
			require.NoError(t, b.c.SignalWorkflow(t.Context(), id, "", "stop", map[string]string{"reason": "enough"}))
		}, "Completed"},
		{"expire", func(*testing.T, string) {}, "Failed"},
	} {
		t.Run(c.name, func(t *testing.T) {
			run := b.start(document)
			b.await(run, "a runs", jobRunning(0))
			if c.name == "expire" {
				b.must(run, "suspend", `{"ttl":"1s","wait":"0s"}`)
				require.Equal(t, activities.TypeExpired, b.failure(run).Type())
			} else {
				require.NotNil(t, b.must(run, "suspend", `{}`).SuspendedAt)
				c.end(t, run.GetID())
				_ = run.Get(b.patient(), nil)
			}
			s := b.status(run)
			require.Nil(t, s.SuspendedAt)
			require.Nil(t, s.ResumeBy)
			require.NotNil(t, s.FinishedAt)
			described, err := b.c.DescribeWorkflow(b.patient(), run.GetID(), "")
			require.NoError(t, err)
			b.Record(run.GetID(), workflows.TypeRequest, "suspended-then-"+c.name)
			require.Equal(t, c.want, described.RawResponse.GetWorkflowExecutionInfo().GetStatus().String())
		})
	}
}

func TestSuspendOfChildRequestsReachesThem(t *testing.T) {
	b := newBench(t)
	until, release := b.hold()
	const timeout = 10 * time.Second
	run := b.start(fmt.Sprintf(`{"jobs":[
		{"id":"sub","workflow":"Request","timeout":%q,"input":{"jobs":[{"id":"x","activity":"Test.Job","heartbeat":"30s","input":{"until":%q,"checkpoints":true}}]}},
		{"id":"next","activity":"Test.Job","after":["sub"]}]}`, timeout, until))
	child := run.GetID() + "/sub/1"
	sub := b.c.GetWorkflow(t.Context(), child, "")
	b.await(run, "sub runs", jobRunning(0))
	b.await(sub, "x runs", jobRunning(0))
	s := b.must(run, "suspend", `{}`)
	require.Equal(t, jobchain.Suspended, s.State)
	require.Equal(t, jobchain.Running, s.Jobs[0].State)
	c := b.await(sub, "the child is suspended", func(s *request.Status) bool { return s.State == "SUSPENDED" })
	require.Nil(t, c.ResumeBy, "it does not expire by itself")
	release()
	time.Sleep(timeout) // of the job, which does not run
	b.must(run, "resume", `{}`)
	result := b.result(run)
	require.Contains(t, string(result.Jobs["sub"]), `"state":"COMPLETE"`)
	require.Equal(t, 1, b.status(run).Jobs[0].Tries)
	b.Record(run.GetID(), workflows.TypeRequest, "child-request-suspended-with-its-parent")
}

func TestChildRequestThatRunsTooLongIsStopped(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[{"id":"sub","workflow":"Request","timeout":"1s","input":{"jobs":[{"id":"x","activity":"Test.Job","heartbeat":"5s","input":{"takes":"60s"}}]}}]}`)
	failure := b.failure(run)
	require.Equal(t, activities.TypeRequestFailed, failure.Type())
	require.Contains(t, failure.Message(), "timeout of 1s")
	b.Record(run.GetID(), workflows.TypeRequest, "child-request-timed-out")
	require.Equal(t, jobchain.Stopped, b.status(b.c.GetWorkflow(t.Context(), run.GetID()+"/sub/1", "")).State)
}

func TestStopOfAChildRequestStopsTheJob(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[{"id":"sub","workflow":"Request","input":{"jobs":[{"id":"x","activity":"Test.Job","heartbeat":"5s","input":{"takes":"60s"}}]}}]}`)
	sub := b.c.GetWorkflow(t.Context(), run.GetID()+"/sub/1", "")
	b.await(run, "sub runs", jobRunning(0))
	b.await(sub, "x runs", jobRunning(0))
	b.must(sub, "stop", `{}`)
	require.Equal(t, jobchain.Stopped, b.result(run).State)
	require.Equal(t, jobchain.Stopped, b.status(run).Jobs[0].State)
	b.Record(run.GetID(), workflows.TypeRequest, "child-request-stopped")
}

func TestStopWaitsForTheGraceAndDropsWhatOutlivesIt(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[
		{"id":"a","activity":"Test.Job","heartbeat":"5s","input":{"takes":"60s"}},
		{"id":"b","activity":"Test.Job","heartbeat":"5s","input":{"takes":"20s","ignoreCancel":true}}]}`)
	b.awaitStarted(run, "a/1")
	b.awaitStarted(run, "b/1")
	s := b.must(run, "stop", `{"reason":"enough","grace":"1s"}`)
	require.Equal(t, jobchain.Stopped, s.State)
	require.Equal(t, 2, s.Stopping)
	result := b.result(run)
	require.Equal(t, jobchain.Stopped, result.State)
	s = b.status(run)
	require.Equal(t, jobchain.Stopped, s.Jobs[0].State)
	require.Contains(t, s.Jobs[1].Error, "outlived the grace")
	require.Equal(t, "enough", s.Reason)
	b.Record(run.GetID(), workflows.TypeRequest, "stopped-with-one-that-outlives-the-grace")
}

func TestDeadlineEndsTheRequest(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"deadline":"1s","jobs":[{"id":"a","activity":"Test.Job","heartbeat":"5s","input":{"takes":"60s"}}]}`)
	failure := b.failure(run)
	require.Equal(t, activities.TypeRequestFailed, failure.Type())
	require.Contains(t, failure.Message(), "deadline")
	var s request.Status
	require.NoError(t, failure.Details(&s))
	require.Equal(t, jobchain.Fail, s.State)
	require.NotNil(t, s.FinishedAt)
	b.Record(run.GetID(), workflows.TypeRequest, "deadline")
}

func TestSequenceIsRetriedTogether(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"sequences":{"load":{"retry":1,"retryWait":"100ms"}},"jobs":[
		{"id":"a","activity":"Test.Job","sequence":"load"},
		{"id":"slow","activity":"Test.Job","sequence":"load","heartbeat":"5s","input":{"takes":"1s"}},
		{"id":"b","activity":"Test.Job","sequence":"load","after":["a"],"input":{"failTries":1}},
		{"id":"c","activity":"Test.Job","after":["b","slow"]}]}`)
	require.Equal(t, jobchain.Complete, b.result(run).State)
	var tries []string
	for _, e := range b.log(run) {
		tries = append(tries, fmt.Sprintf("%s/%d %s", e.Job, e.Try, e.State))
	}
	require.ElementsMatch(t, []string{"a/1 COMPLETE", "slow/1 COMPLETE", "b/1 FAIL", "a/2 COMPLETE", "slow/2 COMPLETE", "b/2 COMPLETE", "c/1 COMPLETE"}, tries)
	b.Record(run.GetID(), workflows.TypeRequest, "sequence-retried")
}

func TestRefusalsThatAreNotTries(t *testing.T) {
	b := newBench(t)
	for _, errType := range []string{"Throttled", "Unavailable", "WorkerStopping"} {
		run := b.start(fmt.Sprintf(`{"jobs":[{"id":"a","activity":"Test.Job","input":{"failFirst":2,"type":%q,"delay":"50ms"}}]}`, errType))
		require.Equal(t, jobchain.Complete, b.result(run).State)
		require.Equal(t, 1, b.status(run).Jobs[0].Tries)
		require.Equal(t, 3, b.jobs.Dispatches(run.GetID(), "a/1"))
		b.Record(run.GetID(), workflows.TypeRequest, "repeated-after-"+errType)
	}
	run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job","retry":5,"input":{"failTries":9,"type":"NotFound"}},
		{"id":"b","activity":"Test.Job","input":{}},{"id":"c","activity":"Test.Job","after":["a"]}]}`)
	require.Equal(t, "job a failed: NotFound: told to fail", b.failure(run).Message())
	s := b.status(run)
	require.Equal(t, 1, s.Jobs[0].Tries, "never retried")
	require.Equal(t, jobchain.Complete, s.Jobs[1].State, "other branches go on")
	require.Equal(t, jobchain.Pending, s.Jobs[2].State)
	b.Record(run.GetID(), workflows.TypeRequest, "failed-beside-others")
}

// TestInputsThatCannotBeMade fail their job with what is wrong, and an activity
// that no worker knows is named.
func TestInputsThatCannotBeMade(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"args":{"n":9007199254740993},"jobs":[
		{"id":"gone","activity":"Test.Job","input":{"output":{"$from":"args.nothing"}}},
		{"id":"huge","activity":"Test.Job","input":{"output":{"$from":"args.n > ` + "`5`" + `"}}},
		{"id":"lost","activity":"Test.Job","input":{"output":{"$from":"[args.n > ` + "`5`" + `, args.n]"}}},
		{"id":"unknown","activity":"Test.Nobody"}]}`)
	require.Equal(t, activities.TypeRequestFailed, b.failure(run).Type())
	s := b.status(run)
	for i, want := range []string{
		`InvalidInput: job gone: input: "args.nothing": there is no such value`,
		"InvalidInput: job huge: input: \"args.n > `5`\": 9007199254740993: a number that float64 can't hold exactly",
		"InvalidInput: job lost: input: \"[args.n > `5`, args.n]\": 9007199254740993: a number that float64 can't hold exactly",
		"ActivityNotRegisteredError: the worker that polls queue " + b.TaskQueue + " does not know the activity Test.Nobody",
	} {
		require.Equal(t, jobchain.Fail, s.Jobs[i].State)
		require.Contains(t, s.Jobs[i].Error, want)
	}
	b.replay(run.GetID(), 2)
	b.Record(run.GetID(), workflows.TypeRequest, "inputs-that-cannot-be-made")
}

// A suspension that has come to rest continues as new at once where an activity ID is
// spent: the resume then finds it free, and waits for nothing.
func TestASuspensionAtRestFreesItsActivityIDsAtOnce(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job","heartbeat":"5s","input":{"ends":"error","type":"Theirs","asked":true}}]}`)
	b.awaitStarted(run, "a/1")
	b.must(run, "suspend", `{"ttl":"0s"}`)
	harness.Await(t, "another run, in SUSPENDED", func(ctx context.Context) error {
		described, err := b.c.DescribeWorkflow(ctx, run.GetID(), "")
		if err == nil && described.RawResponse.GetWorkflowExecutionInfo().GetExecution().GetRunId() == run.GetRunID() {
			err = errors.New("the first still")
		}
		return err
	})
	s := b.status(run)
	require.Equal(t, jobchain.Suspended, s.State)
	require.Nil(t, s.ResumeBy)
	b.must(run, "resume", `{}`)
	var output testjobs.Ended
	require.NoError(t, json.Unmarshal(b.result(run).Jobs["a"], &output))
	require.Equal(t, "a/1", output.ActivityID)
}

package requests_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
)

func TestCaseR13TooLargeIsAFinalError(t *testing.T) {
	b := newBench(t)
	t.Run("document beyond what a run carries", func(t *testing.T) {
		run := b.start(`{"args":"` + strings.Repeat("x", 1_900_000) + `","jobs":[{"id":"a","activity":"Test.Job"}]}`)
		failure := b.failure(run)
		require.Equal(t, activities.TypeTooLarge, failure.Type())
		require.Contains(t, failure.Message(), fmt.Sprint(jobchain.MaxCarried))
	})
	t.Run("document beyond a payload", func(t *testing.T) {
		_, err := b.c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: b.Name("big"), TaskQueue: b.TaskQueue},
			workflows.TypeRequest, json.RawMessage(`"`+strings.Repeat("x", 2_097_151)+`"`))
		require.Error(t, err)
	})
	t.Run("output beyond what a run carries", func(t *testing.T) {
		run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job","retry":3,"input":{"bytes":1900000}}]}`)
		require.Contains(t, b.failure(run).Message(), "TooLarge")
		require.Equal(t, 1, b.status(run).Jobs[0].Tries)
	})
	t.Run("output beyond a payload", func(t *testing.T) {
		run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job","retry":3,"input":{"bytes":4194474}}]}`)
		failure := b.failure(run)
		require.Contains(t, failure.Message(), "TooLarge")
		require.Equal(t, 1, b.status(run).Jobs[0].Tries)
	})
	t.Run("output between a payload and a message", func(t *testing.T) {
		run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job","retry":3,"input":{"bytes":3000000}}]}`)
		require.Contains(t, b.failure(run).Message(), "TooLarge")
	})
	t.Run("400 jobs of 15 KB at once", func(t *testing.T) {
		args, jobs := strings.Repeat("x", 15_000), make([]string, 400)
		for i := range jobs {
			jobs[i] = fmt.Sprintf(`{"id":"j%d","activity":"Test.Job","input":{"padding":{"$from":"args"}}}`, i)
		}
		run := b.start(`{"args":"` + args + `","jobs":[` + strings.Join(jobs, ",") + `]}`)
		ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute) // 6 MB of history, on however slow a disk
		defer cancel()
		require.NoError(t, run.Get(ctx, nil))
		require.Equal(t, 400, b.result(run).FinishedJobs)
		b.replay(run.GetID(), 1)
	})
}

// rollOver makes the request's history long enough for another run.
func rollOver(b *bench, run client.WorkflowRun) {
	b.t.Helper()
	first := b.describe(run.GetID())
	lengthen(b, run)
	b.awaitNext(run, first)
}

// lengthen makes a history so long that Temporal suggests another run, by signals
// of nearly a megabyte that the workflow passes over. The suggestion comes at
// 4 MiB, and the latest signal may not be reckoned in yet.
func lengthen(b *bench, run client.WorkflowRun) {
	b.t.Helper()
	padding := map[string]string{"padding": strings.Repeat("x", 900<<10)}
	for range 6 {
		require.NoError(b.t, b.c.SignalWorkflow(b.patient(), run.GetID(), "", "resume", padding))
	}
}

// awaitNext waits until another run than first is the present one.
func (b *bench) awaitNext(run client.WorkflowRun, first string) {
	b.t.Helper()
	nudged := time.Now()
	harness.Await(b.t, "it continues as new", func(ctx context.Context) error {
		if b.describe(run.GetID()) != first {
			return nil
		}
		// Its last workflow task may have begun before the last signals were
		// reckoned in; another task sees them.
		if time.Since(nudged) > 2*time.Second {
			nudged = time.Now()
			if err := b.c.SignalWorkflow(ctx, run.GetID(), "", "resume", map[string]string{"padding": "x"}); err != nil {
				return err
			}
		}
		return errors.New("the same run")
	})
}

// describe is the ID of the request's present run.
func (b *bench) describe(id string) string {
	b.t.Helper()
	described, err := b.c.DescribeWorkflow(b.patient(), id, "")
	require.NoError(b.t, err)
	return described.RawResponse.GetWorkflowExecutionInfo().GetExecution().GetRunId()
}

func TestCaseR15ChildrenOutliveRollOverAndAreCancelled(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[
		{"id":"plain","workflow":"TestChild","input":{"takes":"300s"}},
		{"id":"rolls","workflow":"TestChild","input":{"takes":"500ms","rolls":100000}},
		{"id":"sub","workflow":"Request","input":{"jobs":[` + oneLongJob + `]}},
		{"id":"done","workflow":"TestChild","input":{"takes":"1s","output":"early"}},
		{"id":"after","activity":"Test.Job","after":["done"]}]}`)
	b.await(run, "all run", func(s *request.Status) bool { return jobRunning(0)(s) && jobRunning(1)(s) && jobRunning(2)(s) })
	b.await(b.c.GetWorkflow(t.Context(), run.GetID()+"/sub/1", ""), "x runs", jobRunning(0))
	rollOver(b, run)
	s := b.await(run, "what ended meanwhile is followed", func(s *request.Status) bool { return s.FinishedJobs == 2 })
	require.Equal(t, jobchain.Running, s.Jobs[0].State)
	require.Equal(t, 1, s.Jobs[2].Tries)

	require.Equal(t, jobchain.Suspended, b.must(run, "suspend", `{"wait":"0s"}`).State)
	sub := b.c.GetWorkflow(t.Context(), run.GetID()+"/sub/1", "")
	b.await(sub, "the child of an earlier run is suspended", func(s *request.Status) bool { return s.State == "SUSPENDED" })
	b.must(run, "resume", `{}`)
	b.await(sub, "and resumed", func(s *request.Status) bool { return s.State == "RUNNING" })

	require.NoError(t, b.c.CancelWorkflow(b.patient(), run.GetID(), ""))
	require.Error(t, run.Get(b.patient(), nil))
	for _, job := range []string{"plain", "rolls", "sub"} {
		harness.Await(t, job+" is cancelled", func(ctx context.Context) error {
			described, err := b.c.DescribeWorkflow(ctx, run.GetID()+"/"+job+"/1", "")
			if err != nil {
				return err
			}
			if s := described.RawResponse.GetWorkflowExecutionInfo().GetStatus(); s != enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED {
				return errors.New(s.String())
			}
			return nil
		})
	}
	b.replay(run.GetID(), 1)
	b.Record(run.GetID(), workflows.TypeRequest, "children-followed-then-cancelled")
}

func TestRollOverKeepsSuspensionClaimAndCheckpoints(t *testing.T) {
	b := newBench(t)
	until, release := b.hold()
	run := b.start(`{"type":"rolling","deadline":"10m","jobs":[
		{"id":"a","activity":"Test.Job","input":{"output":{"n":12345678901234567890123}}},
		{"id":"b","activity":"Test.Job","after":["a"],"heartbeat":"30s","input":{"until":"` + until + `","checkpoints":true}},
		{"id":"c","activity":"Test.Job","after":["b"],"input":{"output":[{"$from":"jobs.a.n"},{"$from":"request.run"}]}}]}`)
	b.awaitCheckpoint(run, "b/1")
	b.must(run, "suspend", `{"ttl":"5m","reason":"why"}`)
	require.NoError(t, b.updateInto(run, "claim", `{"holder":"me"}`, nil))
	before, first := b.status(run), run.GetRunID()
	rollOver(b, run)
	after := b.status(run)
	before.AsOf, before.SuspendedFor = after.AsOf, after.SuspendedFor
	require.Equal(t, before.ResumeBy.UnixMilli(), after.ResumeBy.UnixMilli())
	require.Equal(t, before.Claim.Holder, after.Claim.Holder)
	require.Equal(t, before.Reason, after.Reason)
	require.Equal(t, before.Jobs[1].Tries, after.Jobs[1].Tries)
	require.Equal(t, before.CreatedAt.UnixMilli(), after.CreatedAt.UnixMilli())
	_, err := b.update(run, "resume", `{}`)
	require.Equal(t, activities.TypeConflict, activities.TypeOf(err))
	b.must(run, "resume", `{"holder":"me","token":1}`)
	release()
	result := b.result(run)
	require.NotContains(t, string(result.Jobs["b"]), `"from":0`)
	require.JSONEq(t, fmt.Sprintf(`[12345678901234567890123,%q]`, first), string(result.Jobs["c"]))
	require.Len(t, b.log(run), 3)
	b.Record(run.GetID(), workflows.TypeRequest, "continued-suspended-and-claimed")
}

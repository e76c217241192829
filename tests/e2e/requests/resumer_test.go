package requests_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
)

// TestResumerAsASchedule takes the schedule from its making to its removal.
func TestResumerAsASchedule(t *testing.T) {
	p := newPrograms(t)
	p.StartWorker()
	p.startJobs()
	kind := p.Name("kind")
	filter := fmt.Sprintf("SluiceType=%q", kind)
	id := "request/" + p.Name("r")
	p.Starter("request", "run", "--id", id, "-f", p.document(t, `{"type":"`+kind+`","jobs":[{"id":"a","activity":"Test.Job","taskQueue":"QUEUE","heartbeat":"5s","input":{"takes":"60s"}}]}`)).OK(t)
	run := p.c.GetWorkflow(t.Context(), id, "")
	p.await(run, "a runs", jobRunning(0))
	require.Contains(t, p.Starter("resumer", "status").Exits(t, 1).Stderr, "no schedule sluice-resumer")

	require.Contains(t, p.Starter("resumer", "start", "--every", "1h", "--filter", filter).OK(t).Stdout, `"created": true`)
	t.Cleanup(func() {
		_ = p.c.ScheduleClient().GetHandle(context.Background(), "sluice-resumer").Delete(context.Background())
	})
	again := p.Starter("resumer", "start", "--every", "1s", "--filter", filter).OK(t)
	require.Contains(t, again.Stdout, `"created": false`)
	require.Contains(t, again.Stderr, "was there already")
	for range 2 { // each time another sweep
		p.Starter("request", "suspend", id, "--reason", "by hand").OK(t)
		s := p.await(run, "the schedule resumes it", func(s *request.Status) bool { return s.State == jobchain.Running })
		require.Nil(t, s.Claim)
	}
	var shown struct {
		Every  string
		Sweeps int
		Recent []struct{ WorkflowID, RunID string }
	}
	require.NoError(t, json.Unmarshal([]byte(p.Starter("resumer", "status").Exits(t, 3).Stdout), &shown))
	require.Equal(t, "1s", shown.Every)
	require.GreaterOrEqual(t, shown.Sweeps, 2)
	require.NotEmpty(t, shown.Recent)
	harness.Await(t, "a sweep that finds nothing costs its start and one activity", func(ctx context.Context) error {
		d, err := p.c.ScheduleClient().GetHandle(ctx, "sluice-resumer").Describe(ctx)
		if err != nil {
			return err
		}
		for _, sweep := range d.Info.RecentActions {
			started := sweep.StartWorkflowResult
			var result resumer.Result
			if err := p.c.GetWorkflow(ctx, started.WorkflowID, started.FirstExecutionRunID).Get(ctx, &result); err != nil || len(result.Resumed) > 0 {
				continue
			}
			counts := map[enumspb.EventType]int{}
			events := p.c.GetWorkflowHistory(ctx, started.WorkflowID, started.FirstExecutionRunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
			for events.HasNext() {
				event, err := events.Next()
				if err != nil {
					return err
				}
				counts[event.GetEventType()]++
			}
			require.Equal(t, 1, counts[enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED])
			require.Zero(t, counts[enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES])
			p.Record(started.WorkflowID, workflows.TypeResumeSuspended, "nothing-found", started.FirstExecutionRunID)
			return nil
		}
		return errors.New("none yet")
	})

	p.Starter("resumer", "remove").OK(t)
	p.Starter("resumer", "status").Exits(t, 1)
	p.Starter("resumer", "remove").Exits(t, 1)
	p.Starter("request", "stop", id).OK(t)
}

// suspended starts so many requests of one kind on the bench's queue, suspends
// them and waits until they can be found so. It returns the clause that finds them.
func (b *bench) suspended(n int) (clause string, runs []client.WorkflowRun) {
	b.t.Helper()
	kind := b.Name("kind")
	for range n {
		run := b.start(`{"type":"` + kind + `","jobs":[` + oneLongJob + `]}`)
		b.await(run, "a runs", jobRunning(0))
		b.must(run, "suspend", `{}`)
		runs = append(runs, run)
	}
	clause = fmt.Sprintf(`SluiceType=%q AND SluiceState="SUSPENDED"`, kind)
	harness.Await(b.t, "all are seen suspended", visible(b.c, clause, int64(n)))
	return clause, runs
}

func (b *bench) count(runs []client.WorkflowRun, s jobchain.State) (n int) {
	for _, run := range runs {
		if b.status(run).State == s {
			n++
		}
	}
	return n
}

// sweep starts ResumeSuspended on another queue than the requests'.
func sweep(t *testing.T, elsewhere *harness.Stack, id, clause string) client.WorkflowRun {
	t.Helper()
	input, err := json.Marshal(map[string]any{"filter": clause, "maxParallel": 1})
	require.NoError(t, err)
	run, err := elsewhere.Client.ExecuteWorkflow(t.Context(), startOptions(id, elsewhere.TaskQueue), workflows.TypeResumeSuspended, json.RawMessage(input))
	require.NoError(t, err)
	return run
}

// TestSweepStopsBetweenTwoRequests: the one that is under way is resumed to the
// end, the others are left as they are.
func TestSweepStopsBetweenTwoRequests(t *testing.T) {
	b := newBench(t)
	clause, runs := b.suspended(2)
	elsewhere := harness.Start(t)
	elsewhere.StartWorker()
	b.stopWorker() // nobody answers the claim until the signal is there
	run := sweep(t, elsewhere, b.Name("sweep"), clause)
	harness.Await(t, "it resumes the first", func(ctx context.Context) error {
		var s resumer.Status
		answer, err := elsewhere.Client.QueryWorkflow(ctx, run.GetID(), "", workflows.QueryStatus)
		if err == nil {
			err = answer.Get(&s)
		}
		if err == nil && s.Running != 1 {
			err = errors.New(s.State)
		}
		return err
	})
	elsewhere.Temporal("workflow", "signal", "--workflow-id", run.GetID(), "--name", "stop").OK(t)
	b.startWorker()
	var swept resumer.Result
	require.NoError(t, run.Get(b.patient(), &swept))
	require.Empty(t, swept.Failed)
	require.Len(t, swept.Resumed, 1)
	require.Equal(t, 1, b.count(runs, jobchain.Running))
	require.Equal(t, 1, b.count(runs, jobchain.Suspended))
	b.Record(run.GetID(), workflows.TypeResumeSuspended, "stopped")
}

// TestSweepContinuesAsNew: a sweep whose history is long goes on as another run
// with those that wait, under the same holder.
func TestSweepContinuesAsNew(t *testing.T) {
	b := newBench(t)
	clause, runs := b.suspended(3)
	elsewhere := harness.Start(t)
	run := sweep(t, elsewhere, b.Name("sweep"), clause)
	first := b.describe(run.GetID())
	lengthen(b, run)
	elsewhere.StartWorker()
	var swept resumer.Result
	require.NoError(t, run.Get(b.patient(), &swept))
	require.NotEqual(t, first, b.describe(run.GetID()))
	require.Empty(t, swept.Failed)
	require.Len(t, swept.Resumed, 3)
	require.Equal(t, 3, b.count(runs, jobchain.Running))
	b.Record(run.GetID(), workflows.TypeResumeSuspended, "continued")
	b.replay(run.GetID(), 1)
}

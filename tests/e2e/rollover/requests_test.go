package rollover_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
)

// requests is a stack with a worker, and the test jobs in a process of their own.
type requests struct {
	*harness.Stack
	t         *testing.T
	queue, at string // of the jobs, and where they log their dispatches
}

func newRequests(t *testing.T) *requests {
	t.Helper()
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	r := &requests{s, t, s.Name("jobs"), filepath.Join(t.TempDir(), "dispatches")}
	s.LaunchProgram("tests/jobs", "SLUICE_TASK_QUEUE="+r.queue, "TEST_JOBS_LOG="+r.at)
	return r
}

// chain starts a request of n jobs, one after the other.
func (r *requests) chain(n int, kind string) *target {
	r.t.Helper()
	var jobs []string
	for i := range n {
		after := ""
		if i > 0 {
			after = fmt.Sprintf(`"after":["j%d"],`, i-1)
		}
		jobs = append(jobs, fmt.Sprintf(`{"id":"j%d",%s"activity":"Test.Job","taskQueue":%q,"heartbeat":"30s","input":{"takes":"60ms"}}`, i, after, r.queue))
	}
	return start(r.t, r.Stack, workflows.TypeRequest, "request/"+r.Name("r"), fmt.Sprintf(`{"type":%q,"jobs":[%s]}`, kind, strings.Join(jobs, ",")))
}

// In each round several send suspend and resume at once, as updates and as
// signals; the last that came decides, by the order in which the server has them.
func TestSuspendsAndResumesSentDuringARollOverAllCount(t *testing.T) {
	r := newRequests(t)
	const jobs, rounds = 40, 8
	g := r.chain(jobs, "chain")
	sent := 0
	for round := range rounds {
		send := func(m message) func() {
			sent++
			return func() {
				pause()
				if err := g.send(m, nil); err != nil {
					t.Errorf("%+v: %v", m, err)
				}
			}
		}
		atOnce(
			send(message{"suspend", fmt.Sprintf(`{"reason":"%d by signal","grace":"20s"}`, round), true}),
			send(message{"suspend", fmt.Sprintf(`{"reason":"%d by update","grace":"20s"}`, round), false}),
			send(message{"resume", `{}`, true}),
			send(message{"resume", `{}`, false}),
		)
		wanted := jobchain.Running
		arrived := g.arrived()
		for _, m := range arrived {
			if wanted = jobchain.Running; m.name == "suspend" {
				wanted = jobchain.Suspended
			}
		}
		await(g, fmt.Sprintf("it is %s", wanted), func(s request.Status) bool { return s.State == wanted })
		if wanted == jobchain.Suspended {
			g.claims()
			sent += 2
			sent++
			g.must(message{"resume", `{}`, round%2 == 0}, nil)
			await(g, "it is resumed", func(s request.Status) bool { return s.State == jobchain.Running })
		}
		require.Len(t, g.arrived(), sent)
	}
	var result request.Result
	g.result(&result)
	require.Equal(t, jobchain.Complete, result.State)
	require.Equal(t, jobs, result.FinishedJobs)
	require.Greater(t, len(g.runs()), 5, "it rolled over")
	ended := r.ended(g.id)
	require.Len(t, ended, jobs)
	for id, n := range ended {
		require.Equal(t, 1, n, "%s reported success so often", id)
	}
}

// claims takes the claim of a suspended request and gives it back.
func (g *target) claims() {
	g.t.Helper()
	var answer request.ClaimAnswer
	g.must(message{"claim", `{"holder":"test"}`, false}, &answer)
	require.True(g.t, answer.Claimed)
	g.must(message{"unclaim", fmt.Sprintf(`{"holder":"test","token":%d}`, answer.Token), false}, &answer)
	require.False(g.t, answer.Claimed)
}

// ended counts how often each job of a request reported success.
func (r *requests) ended(id string) map[string]int {
	r.t.Helper()
	raw, err := os.ReadFile(r.at)
	require.NoError(r.t, err)
	ended := map[string]int{}
	for _, line := range strings.Split(string(raw), "\n") {
		if words := strings.Fields(line); len(words) == 4 && words[0] == "end" && words[1] == id && words[3] == "ok" {
			job, _, _ := strings.Cut(words[2], "/")
			ended[job]++
		}
	}
	return ended
}

// Stops come at every moment of a chain that rolls over every few jobs.
func TestAStopSentDuringARollOverStops(t *testing.T) {
	r := newRequests(t)
	for n := range 6 {
		g := r.chain(100, "stopped")
		await(g, "some jobs ran", func(s request.Status) bool { return s.FinishedJobs >= 3+n })
		g.must(message{"stop", `{"reason":"enough"}`, n%2 == 0}, nil)
		var result request.Result
		g.result(&result)
		require.Equal(t, jobchain.Stopped, result.State)
		require.Less(t, result.FinishedJobs, result.TotalJobs)
	}
}

// A sweep that rolls over after every few requests hears of stop in whichever run
// it is: it resumes none after it.
func TestAStopSentToASweepThatRollsOverEndsIt(t *testing.T) {
	r := newRequests(t)
	kind := r.Name("kind")
	const suspended = 16
	var all []*target
	for range suspended {
		g := r.chain(1000, kind)
		g.must(message{"suspend", `{}`, false}, nil)
		all = append(all, g)
	}
	filter := fmt.Sprintf("SluiceType=%q AND SluiceState=\"SUSPENDED\"", kind)
	raw, err := json.Marshal(map[string]any{"filter": filter, "maxParallel": 1})
	require.NoError(t, err)
	harness.Await(t, "all are seen suspended", visible(r.Client, filter, suspended))
	g := start(t, r.Stack, workflows.TypeResumeSuspended, r.Name("sweep"), string(raw))
	await(g, "a few are resumed", func(s resumer.Status) bool { return len(s.Resumed) >= 4 })
	g.must(message{"stop", `{}`, true}, nil)
	var result resumer.Result
	g.result(&result)
	require.Empty(t, result.Failed)
	require.Less(t, len(result.Resumed), suspended)
	require.Greater(t, len(g.runs()), 1, "it rolled over")
	resumed := 0
	for _, one := range all {
		var s request.Status
		require.NoError(t, one.status(&s))
		if s.State == jobchain.Running {
			resumed++
		}
		require.NoError(t, r.Client.TerminateWorkflow(t.Context(), one.id, "", "test is over"))
	}
	require.Len(t, result.Resumed, resumed)
}

// visible waits until visibility finds so many requests.
func visible(c client.Client, query string, n int64) func(context.Context) error {
	return func(ctx context.Context) error {
		found, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err == nil && found.GetCount() != n {
			err = fmt.Errorf("%d found", found.GetCount())
		}
		return err
	}
}

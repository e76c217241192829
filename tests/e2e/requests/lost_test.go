package requests_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/workflows"
	"sluice/workflows/request"
)

// TestAJobThatTakesItsWorkersWithIt is given up with WorkerLost after the tenth.
func TestAJobThatTakesItsWorkersWithIt(t *testing.T) {
	p := newPrograms(t)
	p.StartWorker()
	id := "request/" + p.Name("r")
	p.Starter("request", "run", "--id", id, "-f", p.document(t, `{"jobs":[{"id":"a","activity":"Test.Job","taskQueue":"QUEUE","heartbeat":"300ms","retry":3,"input":{"kill":true}}]}`)).OK(t)
	run := p.c.GetWorkflow(t.Context(), id, "")
	for n := range jobchain.MaxLost {
		<-p.startJobs().Done()
		require.Len(t, p.dispatches(id, "a/1"), n+1, "one dispatch, whatever was lost")
	}
	failure := p.failure(run)
	require.Equal(t, activities.TypeRequestFailed, failure.Type())
	require.Contains(t, failure.Message(), "job a failed: WorkerLost: 10 heartbeat timeouts in a row")
	s := p.status(run)
	require.Equal(t, 1, s.Jobs[0].Tries, "none counted as a try")
	p.Record(id, workflows.TypeRequest, "worker-lost")
}

// TestNoWorkerComesBack: the last worker dies with a job in hand. The request
// goes on waiting for another, shows so, and ends by its deadline.
func TestNoWorkerComesBack(t *testing.T) {
	p := newPrograms(t)
	p.StartWorker()
	jobs := p.startJobs()
	id := "request/" + p.Name("r")
	p.Starter("request", "run", "--id", id, "--deadline", "15s", "-f", p.document(t, `{"jobs":[
		{"id":"a","activity":"Test.Job","taskQueue":"QUEUE","heartbeat":"1s","input":{"takes":"60s","checkpoints":true}}]}`)).OK(t)
	run := p.c.GetWorkflow(t.Context(), id, "")
	p.awaitCheckpoint(run, "a/1")
	jobs.Kill()
	p.await(run, "its end is noticed", func(s *request.Status) bool {
		return strings.Contains(s.Jobs[0].Error, "its worker was lost")
	})
	// Its polls are remembered for 70 s; after them it says that no worker polls.
	require.Regexp(t, `"(a worker on|no worker polls) queue `+p.jobQueue+`"`, p.Starter("request", "status", id).Exits(t, 3).Stdout)
	failure := p.failure(run)
	require.Contains(t, failure.Message(), "deadline")
	s := p.status(run)
	require.Equal(t, jobchain.Stopped, s.Jobs[0].State)
	require.Equal(t, 1, s.Jobs[0].Tries)
}

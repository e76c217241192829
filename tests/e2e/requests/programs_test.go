package requests_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
)

// programs is a stack with the worker program, and the test jobs on a queue of
// their own, in processes that a test may kill.
type programs struct {
	*bench
	jobQueue string
	log      string
}

func newPrograms(t *testing.T) *programs {
	t.Helper()
	s := harness.Start(t)
	p := &programs{bench: &bench{Stack: s, t: t, c: s.Client}, jobQueue: s.Name("jobs"), log: filepath.Join(t.TempDir(), "dispatches")}
	return p
}

func (p *programs) startJobs() *harness.Process {
	return p.LaunchProgram("tests/jobs", "SLUICE_TASK_QUEUE="+p.jobQueue, "TEST_JOBS_LOG="+p.log)
}

// dispatches are the lines about an activity of a request.
func (p *programs) dispatches(id, activityID string) (lines []string) {
	raw, _ := os.ReadFile(p.log)
	for _, line := range strings.Split(string(raw), "\n") {
		if strings.Contains(line, " "+id+" "+activityID) {
			lines = append(lines, line)
		}
	}
	return lines
}

func (p *programs) document(t *testing.T, document string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "request.json")
	require.NoError(t, os.WriteFile(path, []byte(strings.ReplaceAll(document, "QUEUE", p.jobQueue)), 0o644))
	return path
}

func status(t *testing.T, r harness.Result) (s request.Status) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(r.Stdout), &s), r.Stdout)
	return s
}

func TestCaseR05StoppedOrKilledWorkersJobsGoOnElsewhere(t *testing.T) {
	p := newPrograms(t)
	p.StartWorker()
	for name, end := range map[string]func(*harness.Process){
		"SIGTERM": func(j *harness.Process) { j.Signal(syscall.SIGTERM) },
		"SIGKILL": func(j *harness.Process) { j.Kill() },
	} {
		t.Run(name, func(t *testing.T) {
			until, release := p.hold()
			file := p.document(t, `{"jobs":[{"id":"a","activity":"Test.Job","taskQueue":"QUEUE","heartbeat":"4s","input":{"until":"`+until+`","checkpoints":true}}]}`)
			id := "request/" + p.Name("r")
			first := p.startJobs()
			p.Starter("request", "run", "-f", file, "--id", id).OK(t)
			run := p.c.GetWorkflow(t.Context(), id, "")
			p.awaitCheckpoint(run, "a/1")
			second := p.startJobs()
			ended := time.Now()
			end(first)
			p.await(run, "another worker goes on", func(*request.Status) bool {
				return strings.Count(strings.Join(p.dispatches(id, "a/1"), "\n"), "start") >= 2
			})
			release()
			t.Logf("%s: went on after %v", name, time.Since(ended).Round(10*time.Millisecond))
			result := p.result(run)
			require.Equal(t, jobchain.Complete, result.State)
			require.NotContains(t, string(result.Jobs["a"]), `"from":0`, "from the checkpoint")
			require.Equal(t, 1, p.status(run).Jobs[0].Tries)
			second.Kill()
		})
	}
}

func TestCaseR01KilledRightAfterItAcceptedResume(t *testing.T) {
	p := newPrograms(t)
	p.startJobs()
	worker := p.StartWorker()
	until, release := p.hold()
	id := "request/" + p.Name("r")
	p.Starter("request", "run", "-f", p.document(t, `{"jobs":[{"id":"a","activity":"Test.Job","taskQueue":"QUEUE","heartbeat":"30s","input":{"until":"`+until+`"}},
		{"id":"b","activity":"Test.Job","taskQueue":"QUEUE","after":["a"]}]}`), "--id", id).OK(t)
	run := p.c.GetWorkflow(t.Context(), id, "")
	p.await(run, "a runs", jobRunning(0))
	p.Starter("request", "suspend", id).OK(t)
	p.Starter("request", "resume", id).OK(t)
	worker.Kill()
	p.StartWorker()
	require.True(t, status(t, p.Starter("request", "resume", id).OK(t)).AlreadyRunning)
	release()
	require.Equal(t, jobchain.Complete, p.result(run).State)
	lines := strings.Join(p.dispatches(id, "a/1"), "\n")
	require.Equal(t, 1, strings.Count(lines, " ok"), lines)
	require.True(t, strings.HasSuffix(lines, " ok"), "nothing after it reported success:\n%s", lines)
	require.Equal(t, 1, strings.Count(strings.Join(p.dispatches(id, "b/1"), "\n"), "start"))
}

// TestCaseR01TwoResumersResumeEachOnce also leaves a claim behind, as a resumer
// that was killed between claim and resume does.
func TestCaseR01TwoResumersResumeEachOnce(t *testing.T) {
	p := newPrograms(t)
	p.StartWorker()
	p.startJobs()
	kind := p.Name("kind")
	file := p.document(t, `{"type":"`+kind+`","jobs":[{"id":"a","activity":"Test.Job","taskQueue":"QUEUE","heartbeat":"5s","input":{"takes":"30s"}}]}`)
	unpolled := p.document(t, `{"type":"`+kind+`","jobs":[{"id":"a","activity":"Test.Job","taskQueue":"nobody-here"}]}`)
	ids := map[string]bool{}
	for range 6 {
		id := "request/" + p.Name("r")
		p.Starter("request", "run", "-f", file, "--id", id).OK(t)
		ids[id] = true
	}
	waits := "request/" + p.Name("unpolled")
	p.Starter("request", "run", "-f", unpolled, "--id", waits).OK(t)
	require.Contains(t, p.Starter("request", "status", waits).Exits(t, 3).Stdout, "no worker polls queue nobody-here")
	clause := fmt.Sprintf(`SluiceType=%q`, kind)
	p.await(p.c.GetWorkflow(t.Context(), waits, ""), "it runs", jobRunning(0))
	harness.Await(t, "all are visible", visible(p.c, clause, 7))
	suspended := p.Starter("request", "suspend", "--query", clause, "--reason", "all").OK(t)
	require.Contains(t, suspended.Stdout, waits)
	var abandoned string
	for id := range ids {
		abandoned = id
	}
	var claim request.ClaimAnswer
	require.NoError(t, json.Unmarshal([]byte(p.Starter("request", "claim", abandoned, "--holder", "killed", "--lease", "10m").OK(t).Stdout), &claim))
	p.Starter("request", "claim", abandoned, "--holder", "other").Exits(t, 1)
	harness.Await(t, "all are seen suspended", visible(p.c, clause+` AND SluiceState="SUSPENDED"`, 7))

	results := make([]harness.Result, 2)
	var both sync.WaitGroup
	for i := range results {
		both.Go(func() { results[i] = p.Starter("resumer", "once", "--filter", clause) })
	}
	both.Wait()
	resumed := map[string]int{}
	for _, r := range results {
		var swept resumer.Result
		require.NoError(t, json.Unmarshal([]byte(r.Stdout), &swept), r.Stderr)
		for _, id := range swept.Resumed {
			resumed[id]++
		}
		for _, f := range swept.Failed {
			require.Equal(t, waits, f.ID)
			require.Contains(t, f.Error, "no worker polls queue nobody-here")
		}
	}
	require.Len(t, resumed, 5)
	for id, n := range resumed {
		require.Equal(t, 1, n, id)
	}
	require.Equal(t, jobchain.Suspended, p.status(p.c.GetWorkflow(t.Context(), abandoned, "")).State)
	require.Nil(t, p.status(p.c.GetWorkflow(t.Context(), waits, "")).Claim, "the claim was given back")
	p.Starter("request", "claim", abandoned, "--holder", "killed", "--token", fmt.Sprint(claim.Token), "--lease", "1s").OK(t) // its last second
	p.await(p.c.GetWorkflow(t.Context(), abandoned, ""), "the lease of the killed one is over", func(s *request.Status) bool {
		return s.Claim == nil || time.Now().After(s.Claim.ExpiresAt)
	})
	sweep := p.Name("resume")
	last := p.Starter("resumer", "once", "--filter", clause, "--id", sweep).Exits(t, 1)
	p.Record(sweep, workflows.TypeResumeSuspended, "one-resumed-one-without-a-worker")
	require.Contains(t, last.Stdout, abandoned)
	p.Starter("request", "stop", "--query", clause).OK(t)
}

func TestSuspendOnStopAlsoByTheLastWorker(t *testing.T) {
	p := newPrograms(t)
	jobs := p.startJobs()
	worker := p.StartWorker("SLUICE_SUSPEND_ON_STOP=true")
	// The worker suspends the requests whose jobs run in it: HTTP.Call and the
	// like. A job of the product that lasts is one that follows a workflow.
	sleeper := p.Name("sleeper")
	_, err := p.c.ExecuteWorkflow(t.Context(), startOptions(sleeper, p.jobQueue), "TestChild", map[string]string{"takes": "120s"})
	require.NoError(t, err)
	id := "request/" + p.Name("r")
	p.Starter("request", "run", "-f", p.document(t, `{"jobs":[{"id":"a","activity":"Request.Follow","heartbeat":"20s","input":{"workflowId":"`+sleeper+`"}}]}`), "--id", id).OK(t)
	run := p.c.GetWorkflow(t.Context(), id, "")
	p.awaitStarted(run, "a/1")
	began := time.Now()
	require.Zero(t, worker.Stop(t))
	t.Logf("stopped after %v", time.Since(began).Round(10*time.Millisecond))
	p.StartWorker()
	s := status(t, p.Starter("request", "status", id).Exits(t, 3))
	require.Equal(t, jobchain.Suspended, s.State)
	require.Equal(t, "worker stopping", s.Reason)
	require.Nil(t, s.ResumeBy, "it does not expire")
	require.Equal(t, jobchain.Stopped, s.Jobs[0].State)
	p.Starter("request", "stop", id).OK(t)
	jobs.Kill()
}

func TestCaseR17TheStarterTellsHowARequestIs(t *testing.T) {
	p := newPrograms(t)
	p.StartWorker()
	p.startJobs()
	id := "request/" + p.Name("r")
	file := p.document(t, `{"type":"demo","jobs":[{"id":"a","activity":"Test.Job","taskQueue":"QUEUE","input":{"output":1}},
		{"id":"b","activity":"Test.Job","taskQueue":"QUEUE","after":["a"],"heartbeat":"5s","input":{"takes":"60s"}},
		{"id":"c","activity":"Test.Job","taskQueue":"QUEUE","after":["b"],"input":{"output":3}}]}`)
	p.Starter("request", "run", "-f", file, "--id", id).OK(t)
	p.await(p.c.GetWorkflow(t.Context(), id, ""), "b runs", jobRunning(1))
	p.Starter("request", "suspend", id).OK(t)
	require.Equal(t, jobchain.Suspended, status(t, p.Starter("request", "status", id).Exits(t, 3)).State)
	require.True(t, status(t, p.Starter("request", "suspend", id).OK(t)).AlreadySuspended)
	harness.Await(t, "it is listed as alive", visible(p.c, `SluiceState="SUSPENDED" AND WorkflowId="`+id+`"`, 1))
	require.Contains(t, p.Starter("request", "list", "--state", "alive", "--query", `WorkflowId="`+id+`"`).OK(t).Stdout, `"finishedJobs": 1`)
	p.Temporal("workflow", "signal", "--workflow-id", id, "--name", "stop", "--input", `{"reason":"enough"}`).OK(t)
	p.result(p.c.GetWorkflow(t.Context(), id, ""))
	require.Equal(t, jobchain.Stopped, status(t, p.Starter("request", "status", id).Exits(t, 1)).State)
	require.Contains(t, p.Starter("request", "suspend", id).Exits(t, 1).Stderr, "STOPPED")

	exported := filepath.Join(t.TempDir(), "exported.json")
	p.Starter("request", "export", id, "-o", exported).OK(t)
	p.Starter("request", "validate", "-f", exported).OK(t)
	p.Starter("request", "rerun", id, "--skip", "b", "--wait").OK(t)
	require.Len(t, p.dispatches(id, "a/1"), 2, "a was kept")
	rerun := status(t, p.Starter("request", "status", id).OK(t))
	require.Equal(t, 3, rerun.FinishedJobs)
	p.Starter("request", "rerun", id).Exits(t, 1)

	other := "request/" + p.Name("r")
	p.Starter("request", "run", "--from", exported, "--id", other).OK(t)
	p.Starter("request", "stop", other).OK(t)
}

func TestCaseR19ExportedHistoriesReplay(t *testing.T) {
	b := newBench(t)
	run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job"}]}`)
	b.result(run)
	byStarter := filepath.Join(t.TempDir(), "starter.json")
	b.Starter("history", "export", run.GetID(), "-o", byStarter).OK(t)
	byTemporal := filepath.Join(t.TempDir(), "temporal.json")
	require.NoError(t, os.WriteFile(byTemporal, []byte(b.Temporal("workflow", "show", "--workflow-id", run.GetID(), "--output", "json").OK(t).Stdout), 0o644))
	for _, path := range []string{byStarter, byTemporal} {
		require.NoError(t, replayFile(path, true), path)
		require.ErrorContains(t, replayFile(path, false), "TMPRL1100", "changed code passed")
	}
}

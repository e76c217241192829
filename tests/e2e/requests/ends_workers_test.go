package requests_test

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"sluice/internal/jobchain"
	"sluice/tests/harness"
	"sluice/tests/jobs/testjobs"
	"sluice/workflows/request"
)

// TestATryAskedToStopWhoseWorkerIsKilledOrStopped is resumed exactly: from its
// checkpoint, under its key, with no try counted.
func TestATryAskedToStopWhoseWorkerIsKilledOrStopped(t *testing.T) {
	withAndWithoutCache(t, playWorkerEnds)
}

// workerEnd is a request whose job a runs in a process that ends.
type workerEnd struct {
	*programs
	run      client.WorkflowRun
	firstRun string
	beside   bool // job b goes on meanwhile, in this process
	bySignal bool
}

func playWorkerEnds(t *testing.T, b *bench) {
	var all []*workerEnd
	ends := map[string]func(*harness.Process){
		"killed":  func(p *harness.Process) { p.Kill() },
		"stopped": func(p *harness.Process) { p.Signal(syscall.SIGTERM) },
	}
	for name, end := range ends {
		p := &programs{bench: b, jobQueue: b.Name(name), log: filepath.Join(t.TempDir(), name)}
		process := p.startJobs()
		var here []*workerEnd
		for n := range 4 {
			e := &workerEnd{programs: p, beside: n%2 == 0, bySignal: n < 2}
			e.run = b.start(e.document())
			e.firstRun = e.run.GetRunID() // it goes on to the last
			here = append(here, e)
		}
		for _, e := range here {
			e.awaitJobs()
			e.tell("suspend", `{"grace":"200ms"}`)
			b.await(e.run, "the grace is over", func(s *request.Status) bool { return s.State == jobchain.Suspended && s.Stopping == 0 })
		}
		end(process)
		for _, e := range here {
			b.await(e.run, "its end is noticed", func(s *request.Status) bool { return s.Jobs[0].State == jobchain.Stopped })
		}
		<-process.Done()
		p.startJobs()
		all = append(all, here...)
	}
	for _, e := range all {
		e.tell("resume", `{}`)
		b.await(e.run, "a is done", func(s *request.Status) bool { return len(s.Jobs) > 0 && isDone(s) })
		if e.beside {
			b.jobs.Release(e.run.GetID(), "b/1")
		}
		e.check()
	}
}

func (e *workerEnd) document() string {
	other := ""
	if e.beside {
		other = `,{"id":"b","activity":"Test.Job","heartbeat":"10s","input":{"ends":"success","held":true}}`
	}
	return fmt.Sprintf(`{"jobs":[{"id":"a","activity":"Test.Job","taskQueue":%q,"heartbeat":"2s","input":{"ends":"never"}}%s]}`, e.jobQueue, other)
}

func (e *workerEnd) awaitJobs() {
	e.await(e.run, "its jobs run", func(*request.Status) bool {
		return len(e.dispatches(e.run.GetID(), "a/1")) > 0 && (!e.beside || e.jobs.Dispatches(e.run.GetID(), "b/1") == 1)
	})
}

func (e *workerEnd) tell(name, input string) {
	if !e.bySignal {
		e.must(e.run, name, input)
		return
	}
	require.NoError(e.t, e.c.SignalWorkflow(e.patient(), e.run.GetID(), "", name, json.RawMessage(input)))
}

func (e *workerEnd) check() {
	var output testjobs.Ended
	require.NoError(e.t, json.Unmarshal(e.result(e.run).Jobs["a"], &output))
	activityID := "a/1"
	if e.beside {
		activityID = "a/1/2"
	}
	require.Equal(e.t, activityID, output.ActivityID)
	require.Equal(e.t, e.beside, output.Run == e.firstRun, "a new run where nothing was pending")
	require.Equal(e.t, 7, output.From, "from the checkpoint")
	require.Equal(e.t, e.run.GetID()+"/"+e.firstRun+"/a/1", output.Key)
	require.Equal(e.t, 1, e.status(e.run).Jobs[0].Tries)
}

// TestAChildWorkflowAskedToStopThatFails is started again under its ID.
func TestAChildWorkflowAskedToStopThatFails(t *testing.T) {
	withAndWithoutCache(t, func(t *testing.T, b *bench) {
		for _, fails := range []bool{false, true} {
			run := b.start(fmt.Sprintf(`{"jobs":[{"id":"c","workflow":"TestChild","input":{"waits":true,"fails":%v,"output":"done"}}]}`, fails))
			child := run.GetID() + "/c/1"
			b.await(run, "c runs", jobRunning(0))
			for n := range 3 {
				b.awaitAlive(child)
				s := b.must(run, "suspend", `{"grace":"60s"}`)
				require.Equal(t, jobchain.Stopped, s.Jobs[0].State, "suspension %d", n)
				b.must(run, "resume", `{}`)
			}
			b.awaitAlive(child)
			require.NoError(t, b.updateInto(b.c.GetWorkflow(t.Context(), child, ""), testjobs.ChildGo, `null`, nil))
			require.Equal(t, `"done"`, string(b.result(run).Jobs["c"]))
			require.Equal(t, 1, b.status(run).Jobs[0].Tries)
			b.replay(run.GetID(), 1)
		}
	})
}

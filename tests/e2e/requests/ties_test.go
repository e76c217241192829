package requests_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice"
	"sluice/activities"
	"sluice/internal/jobchain"
	"sluice/workflows"
	"sluice/workflows/request"
)

// replay runs the histories of all runs of a request against the code, each so
// many times, as a worker without a cache would.
func (b *bench) replay(id string, times int) {
	b.t.Helper()
	history := &historypb.History{}
	events := b.c.GetWorkflowHistory(b.patient(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(b.t, err)
		history.Events = append(history.Events, event)
	}
	for range times {
		replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
			Plugins: []worker.Plugin{sluice.Plugin(nil)},
			// The SDK's second is short for a large request on a busy machine; the workers allow more.
			DisableDeadlockDetection: true,
		})
		require.NoError(b.t, err)
		started := history.Events[0].GetWorkflowExecutionStartedEventAttributes()
		require.NoError(b.t, replayer.ReplayWorkflowHistoryWithOptions(nil, history, worker.ReplayWorkflowHistoryOptions{
			OriginalExecution: workflow.Execution{ID: id, RunID: started.GetOriginalExecutionRunId()}}), id)
	}
}

const oneLongJob = `{"id":"a","activity":"Test.Job","heartbeat":"5s","input":{"takes":"60s"}}`

// TestCaseR02TTLAndResumeTie has a resume come before its suspension expires,
// and the workflow see both in one task: the passed deadline counts first, and
// the answer says so. Half of the resumes are updates, half signals; half come
// before the server has written down that the time is over, half after.
func TestCaseR02TTLAndResumeTie(t *testing.T) {
	b := newBench(t)
	const requests = 50
	runs := make([]client.WorkflowRun, requests)
	began := time.Now()
	for i := range runs {
		runs[i] = b.start(`{"jobs":[` + oneLongJob + `]}`)
	}
	for _, run := range runs {
		b.await(run, "a runs", jobRunning(0))
	}
	// Long enough on this machine for all to be suspended and the worker stopped.
	ttl := time.Since(began) + time.Second
	suspendAll(b, runs, ttl)
	b.stopWorker()
	answers := make([]error, requests)
	var asked sync.WaitGroup
	resume := func(from int) {
		for i := from; i < requests; i += 4 {
			err := b.c.SignalWorkflow(b.patient(), runs[i].GetID(), "", "resume", map[string]any{})
			if gone := new(serviceerror.NotFound); !errors.As(err, &gone) { // it expired before the worker was stopped
				require.NoError(t, err)
			}
			asked.Go(func() { _, answers[i+1] = b.update(runs[i+1], "resume", `{}`) })
		}
	}
	resume(0)
	for _, run := range runs {
		b.awaitEvent(run, enumspb.EVENT_TYPE_TIMER_FIRED) // its suspension has expired, and nobody has looked
	}
	resume(2)
	b.startWorker()
	asked.Wait()
	for i, run := range runs {
		failure := b.failure(run)
		require.Equal(t, activities.TypeExpired, failure.Type())
		if i%2 == 1 {
			require.Error(t, answers[i], "a resume was granted and the request expired all the same")
		}
		require.Equal(t, jobchain.Fail, b.status(run).State)
		b.replay(run.GetID(), 2)
	}
	b.Record(runs[0].GetID(), workflows.TypeRequest, "expired-as-resume-came")
	b.Record(runs[3].GetID(), workflows.TypeRequest, "expired-before-resume-came")
}

func suspendAll(b *bench, runs []client.WorkflowRun, ttl time.Duration) {
	b.t.Helper()
	var all sync.WaitGroup
	failures := make([]error, len(runs))
	for i, run := range runs {
		all.Go(func() {
			_, failures[i] = b.update(run, "suspend", fmt.Sprintf(`{"wait":"0s","grace":"0s","ttl":%q}`, ttl))
		})
	}
	all.Wait()
	for _, err := range failures {
		require.NoError(b.t, err)
	}
}

// TestCaseR02ResumeRacesExpiry sends resumes at about the instant of expiry to a
// running worker. Whoever wins, answer and final state agree.
func TestCaseR02ResumeRacesExpiry(t *testing.T) {
	b := newBench(t)
	const requests = 30
	runs := make([]client.WorkflowRun, requests)
	for i := range runs {
		runs[i] = b.start(`{"jobs":[` + oneLongJob + `]}`)
	}
	answers := make([]error, requests)
	var all sync.WaitGroup
	for i, run := range runs {
		all.Go(func() {
			if _, answers[i] = b.update(run, "suspend", `{"ttl":"1s","wait":"0s"}`); answers[i] != nil {
				return
			}
			time.Sleep(500*time.Millisecond + time.Duration(i)*25*time.Millisecond)
			_, answers[i] = b.update(run, "resume", `{}`)
		})
	}
	all.Wait()
	resumed := 0
	for i, run := range runs {
		if answers[i] == nil {
			resumed++
			_, answers[i] = b.update(run, "stop", `{"grace":"0s"}`) // refused if it had expired
		}
		err := run.Get(b.patient(), nil)
		if answers[i] == nil {
			require.NoError(t, err, "resumed and yet expired")
		} else {
			require.Equal(t, activities.TypeExpired, activities.TypeOf(err), "refused with %v and yet went on", answers[i])
		}
		b.replay(run.GetID(), 1)
	}
	t.Logf("%d of %d resumed in time", resumed, requests)
}

// TestSignalsCountInTheOrderOfTheirArrival sends signals of different names while
// nobody looks, so that one workflow task sees them all.
func TestSignalsCountInTheOrderOfTheirArrival(t *testing.T) {
	b := newBench(t)
	for _, signals := range []string{"suspend resume", "resume suspend", "suspend resume suspend", "suspend stop resume", "resume stop suspend resume"} {
		for _, early := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, first task %v", signals, early), func(t *testing.T) {
				if early {
					b.stopWorker()
				}
				run := b.start(`{"jobs":[` + oneLongJob + `]}`)
				if !early {
					b.await(run, "a runs", jobRunning(0))
					b.stopWorker()
				}
				want := jobchain.Running
				for _, name := range strings.Fields(signals) {
					require.NoError(t, b.c.SignalWorkflow(b.patient(), run.GetID(), "", name, map[string]any{}))
					switch {
					case want == jobchain.Stopped:
					case name == "stop":
						want = jobchain.Stopped
					case name == "suspend":
						want = jobchain.Suspended
					default:
						want = jobchain.Running
					}
				}
				b.startWorker()
				b.await(run, "the last one counted", func(s *request.Status) bool { return s.State == want })
				if want != jobchain.Stopped {
					b.must(run, "stop", `{"grace":"1s"}`)
				}
				require.Equal(t, jobchain.Stopped, b.result(run).State)
				b.replay(run.GetID(), 3)
			})
		}
	}
}

func TestCaseR07SameHistorySameCommands(t *testing.T) {
	b := newBench(t)
	b.stopWorker()
	var jobs []string
	for i := range 12 {
		jobs = append(jobs, strings.Replace(oneLongJob, `"a"`, fmt.Sprintf(`"j%d"`, i), 1))
	}
	run := b.start(`{"jobs":[` + strings.Join(jobs, ",") + `]}`)
	var updates sync.WaitGroup
	for i, name := range []string{"suspend", "claim", "unclaim", "resume", "suspend"} {
		updates.Go(func() {
			time.Sleep(time.Duration(i) * 100 * time.Millisecond)
			input := map[string]string{"claim": `{"holder":"h"}`, "unclaim": `{"holder":"h","force":true}`, "suspend": `{"wait":"0s"}`}[name]
			if input == "" {
				input = `{}`
			}
			_ = b.updateInto(run, name, input, nil) // some are refused; what counts is the replay
		})
	}
	time.Sleep(time.Second)
	b.startWorker()
	updates.Wait()
	require.NoError(t, b.c.CancelWorkflow(b.patient(), run.GetID(), ""))
	require.Error(t, run.Get(b.patient(), nil))
	b.replay(run.GetID(), 100)
	b.Record(run.GetID(), workflows.TypeRequest, "updates-before-the-worker-then-cancel")
}

// TestCaseR11RollOver has an update's handler wait while the history grows long
// and others come all the time: the run answers each before it goes on as
// another, or the next one does.
func TestCaseR11RollOver(t *testing.T) {
	b := newBench(t)
	until, release := b.hold()
	run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job","heartbeat":"30s","input":{"until":"` + until + `","ignoreCancel":true}},
		{"id":"b","activity":"Test.Job","after":["a"]}]}`)
	first := run.GetRunID()
	b.awaitStarted(run, "a/1")
	waited := make(chan error, 1)
	go func() {
		s, err := b.update(run, "suspend", `{"grace":"60s","wait":"60s"}`)
		if err == nil && (s.State != jobchain.Suspended || s.Stopping != 0) {
			err = fmt.Errorf("answered %+v", s)
		}
		waited <- err
	}()
	b.await(run, "it waits for a to stop", func(s *request.Status) bool { return s.Stopping == 1 })
	rolled, others := make(chan struct{}), make(chan error, 4)
	for range cap(others) {
		go func() {
			for {
				if s, err := b.update(run, "suspend", `{}`); err != nil || !s.AlreadySuspended {
					others <- fmt.Errorf("answered %+v, %w", s, err)
					return
				}
				select {
				case <-rolled:
					others <- nil
					return
				default:
				}
			}
		}()
	}
	lengthen(b, run)
	release()
	require.NoError(t, <-waited)
	b.awaitNext(run, first)
	require.True(t, status(t, b.Starter("request", "suspend", run.GetID()).OK(t)).AlreadySuspended)
	close(rolled)
	for range cap(others) {
		require.NoError(t, <-others)
	}
	b.must(run, "resume", `{}`)
	b.result(run)
	b.replay(run.GetID(), 1)
}

func TestCaseR11CallersGetADefiniteAnswer(t *testing.T) {
	b := newBench(t)
	stubborn := `{"jobs":[{"id":"a","activity":"Test.Job","heartbeat":"30s","input":{"takes":"20s","ignoreCancel":true}}]}`
	for name, meanwhile := range map[string]func(t *testing.T, run client.WorkflowRun){
		"cancel": func(t *testing.T, run client.WorkflowRun) {
			require.NoError(t, b.c.CancelWorkflow(t.Context(), run.GetID(), ""))
		},
		"expiry": func(*testing.T, client.WorkflowRun) {},
		"resume": func(t *testing.T, run client.WorkflowRun) { b.must(run, "resume", `{}`) },
		"stop":   func(t *testing.T, run client.WorkflowRun) { b.must(run, "stop", `{"grace":"0s"}`) },
	} {
		t.Run(name, func(t *testing.T) {
			run := b.start(stubborn)
			b.awaitStarted(run, "a/1")
			answered, ttl := make(chan *request.Status, 1), ""
			if name == "expiry" {
				ttl = "1s"
			}
			go func() {
				s := &request.Status{}
				if err := b.updateInto(run, "suspend", fmt.Sprintf(`{"grace":"30s","wait":"30s","ttl":%q}`, ttl), s); err != nil {
					s = &request.Status{Reason: err.Error()}
				}
				answered <- s
			}()
			b.await(run, "it is suspended", func(s *request.Status) bool {
				return s.State == "SUSPENDED" && s.Stopping == 1 || name == "expiry" && s.State == "FAIL"
			})
			meanwhile(t, run)
			select {
			case s := <-answered:
				want := map[string]jobchain.State{"cancel": jobchain.Stopped, "expiry": jobchain.Fail, "resume": jobchain.Running, "stop": jobchain.Stopped}[name]
				require.Equal(t, want, s.State, s.Reason)
			case <-b.patient().Done():
				t.Fatal("no answer")
			}
		})
	}
}

// messages that arrive with the end of the run are answered before it closes.
func TestCaseR11MessagesAtTheEnd(t *testing.T) {
	b := newBench(t)
	for range 10 {
		run := b.start(`{"jobs":[{"id":"a","activity":"Test.Job","input":{"takes":"100ms"}}]}`)
		var all sync.WaitGroup
		for i := range 5 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 40 * time.Millisecond)
				ctx := b.patient()
				handle, err := b.c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: run.GetID(), UpdateName: "resume",
					Args: []any{json.RawMessage(`{}`)}, WaitForStage: client.WorkflowUpdateStageCompleted})
				var s request.Status
				if err == nil {
					err = handle.Get(ctx, &s)
				}
				if err != nil && ctx.Err() != nil {
					t.Errorf("no definite answer: %v", err)
				}
			})
		}
		all.Wait()
		require.Equal(t, jobchain.Complete, b.result(run).State)
		b.replay(run.GetID(), 1)
	}
}

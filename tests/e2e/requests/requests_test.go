// Package requests_test runs requests on a real server: most tests with a worker
// in the test's own process, which can be stopped at the right instant, some
// through the worker and starter programs.
package requests_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	temporallog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice"
	"sluice/activities"
	"sluice/activities/requests"
	"sluice/tests/harness"
	"sluice/tests/jobs/testjobs"
	"sluice/workflows"
	"sluice/workflows/request"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

// bench is a stack with a worker in this process, which runs the product's
// workflows and the test jobs.
type bench struct {
	*harness.Stack
	t      *testing.T
	c      client.Client // as the worker's, with our headers
	dc     converter.DataConverter
	jobs   *testjobs.Jobs
	worker worker.Worker
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return newBenchBy(t, converter.GetDefaultDataConverter())
}

// newBenchBy is newBench where client and worker have a data converter of their own.
func newBenchBy(t *testing.T, dc converter.DataConverter) *bench {
	t.Helper()
	s := harness.Start(t)
	logged := &unfinished{Handler: slog.DiscardHandler}
	t.Cleanup(func() { require.Empty(t, logged.found(), "handlers that did not finish") })
	c, err := client.NewClientFromExisting(s.Client, client.Options{
		Logger:             temporallog.NewStructuredLogger(slog.New(logged)),
		DataConverter:      sluice.LimitPayloads(dc),
		ContextPropagators: []workflow.ContextPropagator{activities.ContextPropagator(dc)},
	})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	b := &bench{Stack: s, t: t, c: c, dc: dc, jobs: &testjobs.Jobs{}}
	b.startWorker()
	t.Cleanup(b.stopWorker)
	return b
}

// unfinished is a log that keeps the SDK's warnings of update and signal
// handlers that were running when their workflow ended.
type unfinished struct {
	slog.Handler
	mu    sync.Mutex
	lines []string
}

func (u *unfinished) Enabled(_ context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn
}

func (u *unfinished) Handle(_ context.Context, r slog.Record) error {
	if strings.Contains(r.Message, "TMPRL1102") {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.lines = append(u.lines, r.Message)
	}
	return nil
}

func (u *unfinished) WithAttrs([]slog.Attr) slog.Handler { return u }

func (u *unfinished) WithGroup(string) slog.Handler { return u }

func (u *unfinished) found() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.lines
}

func (b *bench) startWorker() {
	b.t.Helper()
	b.worker = worker.New(b.c, b.TaskQueue, worker.Options{
		DeadlockDetectionTimeout:     10 * time.Second,
		MaxHeartbeatThrottleInterval: 100 * time.Millisecond,
		WorkerStopTimeout:            5 * time.Second,
		Plugins:                      []worker.Plugin{sluice.Plugin(b.dc)},
	})
	sluice.RegisterActivities(b.worker, &requests.Children{Temporal: b.c, Converter: b.dc})
	b.jobs.Register(b.worker)
	require.NoError(b.t, b.worker.Start())
}

func (b *bench) stopWorker() {
	if b.worker != nil {
		b.worker.Stop()
		b.worker = nil
	}
}

// start starts a request under a name of its own.
func (b *bench) start(document string) client.WorkflowRun {
	b.t.Helper()
	run, err := b.c.ExecuteWorkflow(b.t.Context(), client.StartWorkflowOptions{
		ID: "request/" + b.Name("r"), TaskQueue: b.TaskQueue,
	}, workflows.TypeRequest, json.RawMessage(document))
	require.NoError(b.t, err)
	return run
}

// patient bounds what a test waits for.
func (b *bench) patient() context.Context {
	ctx, cancel := context.WithTimeout(b.t.Context(), 90*time.Second)
	b.t.Cleanup(cancel)
	return ctx
}

func (b *bench) result(run client.WorkflowRun) *request.Result {
	b.t.Helper()
	var result request.Result
	err := run.Get(b.patient(), &result)
	if err != nil {
		b.t.Fatalf("%s: %v\n%+v", run.GetID(), err, b.failureStatus(err))
	}
	return &result
}

// failure is the application error that the request ended with.
func (b *bench) failure(run client.WorkflowRun) *temporal.ApplicationError {
	b.t.Helper()
	err := run.Get(b.patient(), nil)
	var application *temporal.ApplicationError
	require.ErrorAs(b.t, err, &application)
	return application
}

func (b *bench) failureStatus(err error) (s request.Status) {
	var application *temporal.ApplicationError
	if errors.As(err, &application) && application.HasDetails() {
		_ = application.Details(&s)
	}
	return s
}

func (b *bench) status(run client.WorkflowRun) *request.Status {
	b.t.Helper()
	answer, err := b.c.QueryWorkflow(b.patient(), run.GetID(), "", workflows.QueryStatus)
	require.NoError(b.t, err)
	var s request.Status
	require.NoError(b.t, answer.Get(&s))
	return &s
}

func (b *bench) log(run client.WorkflowRun) []request.Entry {
	b.t.Helper()
	answer, err := b.c.QueryWorkflow(b.patient(), run.GetID(), "", workflows.QueryLog)
	require.NoError(b.t, err)
	var l []request.Entry
	require.NoError(b.t, answer.Get(&l))
	return l
}

// update sends an update and returns its answer or the refusal.
func (b *bench) update(run client.WorkflowRun, name, input string) (*request.Status, error) {
	b.t.Helper()
	var s request.Status
	return &s, b.updateInto(run, name, input, &s)
}

func (b *bench) updateInto(run client.WorkflowRun, name, input string, answer any) error {
	b.t.Helper()
	handle, err := b.c.UpdateWorkflow(b.patient(), updateOptions(run.GetID(), name, input))
	if err != nil {
		return err
	}
	return handle.Get(b.patient(), answer)
}

func (b *bench) must(run client.WorkflowRun, name, input string) *request.Status {
	b.t.Helper()
	s, err := b.update(run, name, input)
	require.NoError(b.t, err)
	return s
}

// await waits until the request's status is as wanted.
func (b *bench) await(run client.WorkflowRun, what string, wanted func(*request.Status) bool) *request.Status {
	b.t.Helper()
	var s *request.Status
	harness.Await(b.t, what, func(ctx context.Context) error {
		answer, err := b.c.QueryWorkflow(ctx, run.GetID(), "", workflows.QueryStatus)
		if err != nil {
			return err
		}
		s = &request.Status{}
		if err := answer.Get(s); err != nil {
			return err
		}
		if !wanted(s) {
			raw, _ := json.Marshal(s)
			return errors.New(string(raw))
		}
		return nil
	})
	return s
}

func jobRunning(n int) func(*request.Status) bool {
	return func(s *request.Status) bool { return len(s.Jobs) > n && s.Jobs[n].State == "RUNNING" }
}

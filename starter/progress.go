package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"sluice"
	"sluice/internal/jobchain"
	"sluice/starter/internal/progress"
	"sluice/starter/internal/trouble"
	"sluice/workflows"
	"sluice/workflows/request"
)

// sight is what is seen of a run: its last status document and its description,
// which has what its activities last heartbeat.
type sight struct {
	status    json.RawMessage // nil while nothing has answered
	described *workflowservice.DescribeWorkflowExecutionResponse
	converter converter.DataConverter
}

// heartbeat reads into v what a pending activity last heartbeat.
func (s sight) heartbeat(activityType string, v any) bool {
	for _, pending := range s.described.GetPendingActivities() {
		if pending.GetActivityType().GetName() == activityType && pending.GetHeartbeatDetails() != nil {
			return s.converter.FromPayloads(pending.GetHeartbeatDetails(), v) == nil
		}
	}
	return false
}

// describe looks at a workflow, which no worker has to answer for.
func (a *app) describe(ctx context.Context, workflowID string) (sight, error) {
	described, err := a.connected.DescribeWorkflow(ctx, workflowID, "")
	if err != nil {
		return sight{}, err
	}
	dc, err := sluice.DataConverter(a.cli.Config)
	return sight{described: described.RawResponse, converter: dc}, err
}

// observer looks for what is in a workflow's way.
func (a *app) observer() (*trouble.Observer, error) {
	dc, err := sluice.DataConverter(a.cli.Config)
	if err != nil {
		return nil, err
	}
	failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{DataConverter: dc})
	return &trouble.Observer{Client: a.connected, Failures: failures, Payloads: dc, Describe: describe}, nil
}

// progressOf reads how far the work is. A total of 0 means that it is not known.
type progressOf func(s sight) (done, total int64, words string)

const (
	// pollInterval is how often a waiting command looks at the run's description.
	pollInterval = time.Second
	// queryInterval is how far apart its queries are at least: unlike descriptions
	// they are billed, and a worker has to answer them.
	queryInterval = 5 * time.Second
	// queryPatience is how long a worker may take to answer.
	queryPatience = 10 * time.Second
)

// follow shows the run's progress until it ends and returns its result. The end
// itself comes by a long poll.
func (a *app) follow(run begun, progressOf progressOf) (json.RawMessage, error) {
	observer, err := a.observer()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(a.ctx)
	line := progress.New(a.stderr)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if progressOf != nil {
			(&follower{app: a, id: run.GetID(), progress: progressOf, line: line, observer: observer}).run(ctx)
		}
	}()
	var result json.RawMessage
	err = run.Get(a.ctx, &result)
	cancel()
	<-ended
	line.Finish()
	if a.ctx.Err() != nil {
		return nil, a.goesOn(run)
	}
	return result, err
}

// A follower shows the progress of one workflow.
type follower struct {
	app      *app
	id       string
	progress progressOf
	line     *progress.Line
	observer *trouble.Observer

	seen    sight
	asked   time.Time // when the status was asked for
	history string    // the run and the length of its history then
}

func (f *follower) run(ctx context.Context) {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			f.look(ctx)
		}
	}
}

// look shows what can be seen now.
func (f *follower) look(ctx context.Context) {
	now, err := f.app.describe(ctx, f.id)
	if err != nil {
		if ctx.Err() == nil && !errors.As(err, new(*serviceerror.NotFound)) {
			f.show("Temporal does not answer: " + describe(err))
		}
		return
	}
	now.status = f.seen.status
	f.seen = now
	f.ask(ctx)
	if t := f.seen.trouble(ctx, f.observer); ctx.Err() == nil {
		f.show(t.String())
	}
}

func (f *follower) show(hindrance string) {
	done, total, words := f.progress(f.seen)
	f.line.Show(progress.State{Done: done, Total: total, Words: words, Hindrance: hindrance})
}

// ask asks for the status where the history has grown since and a worker is there
// to answer.
func (f *follower) ask(ctx context.Context) {
	info := f.seen.described.GetWorkflowExecutionInfo()
	history := fmt.Sprint(info.GetExecution().GetRunId(), info.GetHistoryLength())
	if history == f.history || time.Since(f.asked) < queryInterval || !f.observer.Polled(ctx, info.GetTaskQueue()) {
		return
	}
	f.asked = time.Now()
	within, cancel := context.WithTimeout(ctx, queryPatience)
	defer cancel()
	answer, err := f.app.connected.QueryWorkflow(within, f.id, "", workflows.QueryStatus)
	var status json.RawMessage
	if err != nil || answer.Get(&status) != nil {
		return // its first task is not done, or the worker is busy
	}
	f.seen.status, f.history = status, history
}

// troubleOf is what is in the way of a workflow that was just looked at.
func (a *app) troubleOf(seen sight) (trouble.Trouble, error) {
	observer, err := a.observer()
	if err != nil {
		return trouble.Trouble{}, err
	}
	return seen.trouble(a.ctx, observer), nil
}

// trouble is what is in the way, by the description and by the status document: a
// request's jobs, and that it waits to be resumed.
func (s sight) trouble(ctx context.Context, observer *trouble.Observer) trouble.Trouble {
	told := toldBy(s.status)
	t := observer.Of(ctx, s.described, told.Jobs)
	if t.LastError == "" {
		t.LastError = told.LastError
	}
	if told.State == string(jobchain.Suspended) && told.FinishedAt == nil {
		until := ""
		if told.ResumeBy != nil {
			until = ", until " + told.ResumeBy.UTC().Format(time.RFC3339)
		}
		t.WaitsFor = append([]string{"being resumed" + until}, t.WaitsFor...)
	}
	return t
}

// told is what status documents tell of trouble.
type told struct {
	State      string
	ResumeBy   *time.Time
	FinishedAt *time.Time
	LastError  string
	Jobs       []request.Job
}

func toldBy(status json.RawMessage) (t told) {
	if json.Unmarshal(status, &t) != nil {
		return told{} // another form, of which nothing is known
	}
	return t
}

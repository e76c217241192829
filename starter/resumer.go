package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/duration"
	"sluice/internal/wire"
	"sluice/starter/internal/equivalent"
	"sluice/workflows"
	"sluice/workflows/resumer"
)

// resumerCmd is the group of what resumes suspended requests by itself.
type resumerCmd struct {
	Start  resumerStartCmd  `cmd:"" help:"Resume suspended requests every so often, by a Temporal schedule."`
	Status resumerStatusCmd `cmd:"" help:"Show the schedule and its latest sweeps; exit status 3 while it is active."`
	Remove resumerRemoveCmd `cmd:"" help:"Remove the schedule."`
	Once   resumerOnceCmd   `cmd:"" help:"Resume suspended requests once."`
}

// resumerSchedule is the ID of the schedule.
const resumerSchedule = "sluice-resumer"

// resumerSummary is what the Web UI shows beside a sweep's ID.
const resumerSummary = "Resumes suspended requests"

// resumerFlags are the input of ResumeSuspended.
type resumerFlags struct {
	fileFlag
	Holder      string `help:"Name under which requests are claimed; by default the sweep's own."`
	Filter      string `help:"An extra clause of the visibility query, such as SluiceType=\"report\"." placeholder:"QUERY"`
	MaxParallel int    `name:"max-parallel" help:"Requests resumed at once." placeholder:"10"`
	Lease       string `help:"Lease of a claim." placeholder:"5m"`
	Limit       int    `help:"Requests of a sweep at most; 0 for all."`
}

func (f resumerFlags) input(a *app) (json.RawMessage, error) {
	input, err := a.document(f.fileFlag, field{"holder", f.Holder}, field{"filter", f.Filter},
		field{"maxParallel", f.MaxParallel}, field{"lease", f.Lease}, field{"limit", f.Limit})
	if err != nil {
		return nil, err
	}
	return input, checkInput(workflows.TypeResumeSuspended, resumerSchedule, input)
}

type resumerStartCmd struct {
	resumerFlags
	Every duration.Duration `default:"1m" help:"Between two sweeps; one that takes longer is let finish."`
}

// Run creates the schedule, or gives the one that is there these settings.
func (r resumerStartCmd) Run(a *app) error {
	input, err := r.input(a)
	if err != nil {
		return err
	}
	if r.Every.Std() < time.Second {
		return usage("--every: %v; at least 1s", r.Every)
	}
	c, err := a.same(equivalent.WithInput([]string{"temporal", "schedule", "create", "--schedule-id", resumerSchedule, "--interval", r.Every.String(),
		"--overlap-policy", "Skip", "--type", workflows.TypeResumeSuspended, "--task-queue", a.cli.TaskQueue, "--workflow-id", resumerSchedule,
		"--static-summary", resumerSummary, "--static-details", wire.About(workflows.TypeResumeSuspended),
		"--search-attribute", fmt.Sprintf("%s=%q", workflows.AttributeState.GetName(), workflows.StateDone),
		"--search-attribute", fmt.Sprintf("%s=%q", workflows.AttributeType.GetName(), workflows.TypeResumeSuspended)}, input))
	if err != nil {
		return err
	}
	options := client.ScheduleOptions{
		ID:      resumerSchedule,
		Spec:    client.ScheduleSpec{Intervals: []client.ScheduleIntervalSpec{{Every: r.Every.Std()}}},
		Overlap: enumspb.SCHEDULE_OVERLAP_POLICY_SKIP,
		Action: &client.ScheduleWorkflowAction{ID: resumerSchedule, Workflow: workflows.TypeResumeSuspended, TaskQueue: a.cli.TaskQueue,
			Args: []any{input}, StaticSummary: resumerSummary, StaticDetails: wire.About(workflows.TypeResumeSuspended),
			// Those of its end: a sweep that finds nothing changes none, which would cost.
			TypedSearchAttributes: activities.StartAttributes(workflows.StateDone, workflows.TypeResumeSuspended, "")},
		TriggerImmediately: true,
	}
	_, err = c.ScheduleClient().Create(a.ctx, options)
	created := err == nil
	if errors.Is(err, temporal.ErrScheduleAlreadyRunning) {
		err = c.ScheduleClient().GetHandle(a.ctx, resumerSchedule).Update(a.ctx, client.ScheduleUpdateOptions{
			DoUpdate: func(in client.ScheduleUpdateInput) (*client.ScheduleUpdate, error) {
				schedule := in.Description.Schedule
				schedule.Spec, schedule.Action = &options.Spec, options.Action
				if schedule.Policy != nil {
					schedule.Policy.Overlap = options.Overlap
				}
				return &client.ScheduleUpdate{Schedule: &schedule}, nil
			}})
	}
	if err != nil {
		return err
	}
	if !created {
		a.note("schedule %s was there already and has these settings from now on", resumerSchedule)
	}
	a.note("schedule %s: every %v", resumerSchedule, r.Every)
	return a.result(map[string]any{"scheduleId": resumerSchedule, "every": r.Every.String(), "created": created})
}

type resumerStatusCmd struct{ tableFlag }

// resumerStatus is what status prints.
type resumerStatus struct {
	ScheduleID string         `json:"scheduleId"`
	Every      string         `json:"every"`
	Paused     bool           `json:"paused"`
	Sweeps     int            `json:"sweeps"`
	Skipped    int            `json:"skippedOverlap"`
	NextAt     *time.Time     `json:"nextAt"`
	Recent     []resumerSweep `json:"recent"`
}

type resumerSweep struct {
	WorkflowID string    `json:"workflowId"`
	RunID      string    `json:"runId"`
	StartedAt  time.Time `json:"startedAt"`
}

func (r resumerStatusCmd) Run(a *app) error {
	c, err := a.same([]string{"temporal", "schedule", "describe", "--schedule-id", resumerSchedule})
	if err != nil {
		return err
	}
	d, err := c.ScheduleClient().GetHandle(a.ctx, resumerSchedule).Describe(a.ctx)
	if err != nil {
		return noSchedule(err)
	}
	s := resumerStatus{ScheduleID: resumerSchedule, Sweeps: d.Info.NumActions, Skipped: d.Info.NumActionsSkippedOverlap, Recent: []resumerSweep{}}
	if d.Schedule.State != nil {
		s.Paused = d.Schedule.State.Paused
	}
	if d.Schedule.Spec != nil && len(d.Schedule.Spec.Intervals) > 0 {
		s.Every = duration.Duration(d.Schedule.Spec.Intervals[0].Every).String()
	}
	if len(d.Info.NextActionTimes) > 0 {
		s.NextAt = &d.Info.NextActionTimes[0]
	}
	for _, recent := range d.Info.RecentActions {
		if started := recent.StartWorkflowResult; started != nil {
			s.Recent = append(s.Recent, resumerSweep{started.WorkflowID, started.FirstExecutionRunID, recent.ActualTime})
		}
	}
	if err := a.rows(r.tableFlag, s); err != nil {
		return err
	}
	return alive()
}

func noSchedule(err error) error {
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return failed("no schedule %s; `starter resumer start` makes it", resumerSchedule)
	}
	return err
}

type resumerRemoveCmd struct{}

func (resumerRemoveCmd) Run(a *app) error {
	c, err := a.same([]string{"temporal", "schedule", "delete", "--schedule-id", resumerSchedule})
	if err != nil {
		return err
	}
	if err := c.ScheduleClient().GetHandle(a.ctx, resumerSchedule).Delete(a.ctx); err != nil {
		return noSchedule(err)
	}
	return a.result(map[string]string{"removed": resumerSchedule})
}

type resumerOnceCmd struct {
	resumerFlags
	ID string `help:"Workflow ID." placeholder:"resume/RANDOM"`
}

// Run waits for the sweep: its result is what was asked for.
func (r resumerOnceCmd) Run(a *app) error {
	input, err := r.input(a)
	if err != nil {
		return err
	}
	id := r.ID
	if id == "" {
		id = randomID("resume/")
	}
	run, err := a.start(launch{workflowType: workflows.TypeResumeSuspended, id: id, input: input,
		options: client.StartWorkflowOptions{StaticSummary: resumerSummary}})
	if err != nil {
		return err
	}
	raw, err := a.follow(run, nil)
	if err != nil {
		return err
	}
	var result resumer.Result
	if err := errors.Join(json.Unmarshal(raw, &result), a.result(raw)); err != nil {
		return err
	}
	if len(result.Failed) > 0 {
		return failed("%s could not be resumed", counted(len(result.Failed), "request"))
	}
	return nil
}

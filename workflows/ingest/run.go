package ingest

import (
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// run is one run of Ingest on its way through the phases.
type run struct {
	ctx      workflow.Context
	in       Input
	plan     wire.IngestPlan
	started  time.Time
	deadline time.Time // zero: none
	now      func() time.Time

	attributes shell.Attributes
	phase      string
	words      string // what is done in it
	passed     shell.Trouble
	lastError  string // of what failed on the way
	objects    int64
	tasks      int64
	generation int
	joined     bool // the counter
	claimer    claimer
	result     *Result
}

func newRun(ctx workflow.Context, in continued) *run {
	info := workflow.GetInfo(ctx)
	r := &run{
		ctx:      ctx,
		in:       in.Input,
		plan:     in.plan(info.WorkflowExecution.ID, info.FirstRunID),
		started:  info.WorkflowStartTime,
		deadline: in.Deadline.Time(info.WorkflowStartTime),
		now:      func() time.Time { return workflow.Now(ctx) },
		phase:    phasePrepare,
	}
	if in.Carried != nil {
		r.take(*in.Carried)
	}
	return r
}

// ingest goes through the phases up to a comparison after which nothing more comes,
// or the last one before the deadline.
func (r *run) ingest(ctx workflow.Context) (*Result, error) {
	if r.generation == 0 {
		if err := r.stream(ctx); err != nil {
			return nil, err
		}
	}
	for {
		if err := r.settle(ctx); err != nil {
			return nil, err
		}
		result, more, err := r.compare(ctx)
		if err != nil {
			return nil, err
		}
		if !more || r.isLate() {
			return result, nil
		}
		if workflow.GetInfo(ctx).GetContinueAsNewSuggested() {
			return nil, r.continueAsNew(ctx)
		}
	}
}

// stream has every object's records streamed, as far as the deadline allows, and
// ends the claimer: what is left to do needs none.
func (r *run) stream(ctx workflow.Context) error {
	if err := r.prepare(ctx); err != nil {
		return err
	}
	if err := r.dispatch(ctx); err != nil {
		return err
	}
	if err := r.awaitTasks(ctx); err != nil {
		return err
	}
	r.claimer.end(ctx, !r.isLate())
	return ctx.Err()
}

// prepare looks up all that the input names and lists the objects, before
// anything is started.
func (r *run) prepare(ctx workflow.Context) error {
	r.show(ctx, phasePrepare, "Looking up bucket, queue, stream and table, listing the objects.")
	var prepared wire.IngestPrepared
	err := callWithAzure(ctx, r, "look up what the input names", wire.IngestPrepare, &prepared)
	r.objects = prepared.Objects
	return err
}

// dispatch starts what works on the tasks, then puts a task per object on the
// queue.
func (r *run) dispatch(ctx workflow.Context) error {
	r.show(ctx, phaseDispatch, fmt.Sprintf("Putting a task for each object (%d) on queue `%s`.", r.objects, r.in.Queue))
	if err := r.claimer.start(ctx, r.plan.Workflow, r.in.Queue, r.in.claimInput()); err != nil {
		return err
	}
	r.joined = true // also where the answer is lost
	if err := callAtMost(ctx, r, "join or start the counter", wire.IngestJoinCount, nil); err != nil {
		return err
	}
	return r.unlessLate(ctx, callWithAzure(ctx, r, "a task per object", wire.IngestEnqueue, nil))
}

// awaitTasks waits until every task has ended, or the deadline has passed.
func (r *run) awaitTasks(ctx workflow.Context) error {
	r.show(ctx, phaseStream, fmt.Sprintf("%d tasks stream their objects to `%s`.", r.objects, r.in.Stream))
	var ended wire.IngestTasks
	waiting := activities.WaitOptions()
	waiting.Summary = "until every task has ended"
	waiting.ScheduleToCloseTimeout = r.atMost(waiting.StartToCloseTimeout)
	err := shell.Execute(workflow.WithActivityOptions(ctx, waiting), wire.IngestAwaitTasks,
		wire.IngestAwait{Run: r.plan.Run, Total: r.objects, Deadline: r.deadline}).Get(ctx, &ended)
	r.tasks = ended.Ended
	return r.unlessLate(ctx, err)
}

// settle waits until the delivery is quiet, as another generation after the
// first.
func (r *run) settle(ctx workflow.Context) error {
	r.generation++
	r.show(ctx, phaseSettle, fmt.Sprintf("Waiting for `%s` to fall quiet, generation %d.", r.in.Delivery.Bucket, r.generation))
	if r.isLate() {
		return nil
	}
	deadline := ""
	if !r.deadline.IsZero() {
		deadline = r.deadline.Format(time.RFC3339Nano)
	}
	options := workflow.ChildWorkflowOptions{
		WorkflowID:            wire.IngestWatchID(r.plan.Workflow, r.generation),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		TypedSearchAttributes: activities.StartAttributes(quiescence.Waiting, wire.TypeQuiescence, wire.Source{DynamoDB: &wire.DynamoDBSource{Table: r.in.Table}}.Target()),
		StaticDetails:         wire.About(wire.TypeQuiescence),
		StaticSummary:         "Decides that the last record of " + r.plan.Workflow + " has landed",
	}
	if !r.deadline.IsZero() {
		options.WorkflowExecutionTimeout = r.atMost(0)
	}
	return r.unlessLate(ctx, workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), wire.TypeQuiescence,
		r.in.quiescenceInput(deadline)).Get(ctx, nil))
}

// compare reads what was delivered and compares it by record id. more says that
// missing records may come yet: those of objects that can't be read don't.
func (r *run) compare(ctx workflow.Context) (result *Result, more bool, err error) {
	r.show(ctx, phaseCompare, fmt.Sprintf("Comparing what was delivered to `%s` by record id.", r.in.Delivery.Bucket))
	var summary wire.IngestSummary
	transfer := activities.TransferOptions()
	transfer.Summary = "read what was delivered, compare by record id"
	transfer.ScheduleToCloseTimeout = r.atMost(transfer.StartToCloseTimeout)
	err = shell.Execute(workflow.WithActivityOptions(ctx, transfer), wire.IngestSummarise,
		wire.IngestSummariseInput{Plan: r.plan, Since: r.started}).Get(ctx, &summary)
	if err != nil {
		return nil, false, err
	}
	return &Result{
		Run: r.plan.Run, Objects: r.objects, Records: summary.Records, Delivered: summary.Delivered,
		Missing: summary.Missing, Duplicated: summary.Duplicated, Tasks: r.tasks,
		Seconds: r.now().Sub(r.started).Seconds(), Report: summary.Report,
	}, summary.Missing > summary.Lost, nil
}

// finish ends what this run started, and what others may go on with: the counter,
// which ends with the last ingestion that has joined it. What does not end in time
// is told, and fails nothing.
func (r *run) finish(ctx workflow.Context) {
	r.show(ctx, phaseFinish, "Ending the claimer and leaving the counter.")
	r.claimer.end(ctx, false)
	if !r.joined {
		return
	}
	if err := leave(ctx, "leave the counter", wire.IngestLeaveCount, r.plan); err != nil {
		workflow.GetLogger(ctx).Warn("The counter goes on, since it could not be left.",
			"counter", wire.CountID(r.plan.Notifications), "error", err)
	}
}

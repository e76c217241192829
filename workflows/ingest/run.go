package ingest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// run is one run of Ingest on its way through the phases.
type run struct {
	in       Input
	plan     wire.IngestPlan
	started  time.Time
	deadline time.Time // zero: none
	now      func() time.Time

	attributes  shell.Attributes
	phase       string
	objects     int64
	tasks       int64
	generation  int
	counterOurs bool
	claimer     workflow.ChildWorkflowFuture
	result      *Result
}

func newRun(ctx workflow.Context, in Input) *run {
	info := workflow.GetInfo(ctx)
	return &run{
		in:       in,
		plan:     in.plan(info.WorkflowExecution.ID, info.FirstRunID),
		started:  info.WorkflowStartTime,
		deadline: in.Deadline.Time(info.WorkflowStartTime),
		now:      func() time.Time { return workflow.Now(ctx) },
		phase:    phasePrepare,
	}
}

// ingest goes through the phases up to a comparison with nothing missing, or
// the last one before the deadline.
func (r *run) ingest(ctx workflow.Context) (*Result, error) {
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	if err := r.dispatch(ctx); err != nil {
		return nil, err
	}
	if err := r.awaitTasks(ctx); err != nil {
		return nil, err
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
	}
}

// prepare looks up all that the input names and lists the objects, before
// anything is started.
func (r *run) prepare(ctx workflow.Context) error {
	r.show(ctx, phasePrepare, "Looking up bucket, queue, stream and table, listing the objects.")
	var prepared wire.IngestPrepared
	err := call(ctx, "look up what the input names", wire.IngestPrepare, r.plan, &prepared)
	r.objects = prepared.Objects
	return err
}

// dispatch starts what works on the tasks, then puts a task per object on the
// queue.
func (r *run) dispatch(ctx workflow.Context) error {
	r.show(ctx, phaseDispatch, fmt.Sprintf("Putting %d tasks on queue `%s`.", r.objects, r.in.Queue))
	var joined wire.IngestJoined
	if err := call(ctx, "join or start the counter", wire.IngestJoinCount, r.plan, &joined); err != nil {
		return err
	}
	r.counterOurs = joined.Started
	if err := r.startClaimer(ctx); err != nil {
		return err
	}
	return call(ctx, "a task per object", wire.IngestEnqueue, r.plan, nil)
}

func (r *run) startClaimer(ctx workflow.Context) error {
	options := workflow.ChildWorkflowOptions{
		WorkflowID:            wire.ClaimID(r.plan.Workflow),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         "Claims the tasks of " + r.plan.Workflow,
	}
	r.claimer = workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), wire.TypeClaimTasks, r.in.claimInput())
	return r.claimer.GetChildWorkflowExecution().Get(ctx, nil)
}

// awaitTasks waits until every task has ended, or the deadline has passed.
func (r *run) awaitTasks(ctx workflow.Context) error {
	r.show(ctx, phaseStream, fmt.Sprintf("%d tasks stream their objects to `%s`.", r.objects, r.in.Stream))
	var ended wire.IngestTasks
	waiting := activities.WaitOptions()
	waiting.Summary = "until every task has ended"
	err := shell.Execute(workflow.WithActivityOptions(ctx, waiting), wire.IngestAwaitTasks,
		wire.IngestAwait{Run: r.plan.Run, Total: r.objects, Deadline: r.deadline}).Get(ctx, &ended)
	r.tasks = ended.Ended
	return err
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
		StaticSummary:         "Decides that the last record of " + r.plan.Workflow + " has landed",
	}
	return workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), wire.TypeQuiescence,
		r.in.quiescenceInput(deadline)).Get(ctx, nil)
}

// compare reads what was delivered and compares it by record id. more says that
// missing records may come yet: those of objects that can't be read don't.
func (r *run) compare(ctx workflow.Context) (result *Result, more bool, err error) {
	r.show(ctx, phaseCompare, fmt.Sprintf("Comparing what was delivered to `%s` by record id.", r.in.Delivery.Bucket))
	var summary wire.IngestSummary
	transfer := activities.TransferOptions()
	transfer.Summary = "read what was delivered, compare by record id"
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

// finish ends what this run started: the claimer is drained after a success, so
// that nothing of it is cut off, else told to stop its tasks.
func (r *run) finish(ctx workflow.Context, success bool) error {
	r.show(ctx, phaseFinish, "Ending the claimer and the counter.")
	var failures []error
	if r.claimer != nil {
		message := wire.UpdateStop
		if success {
			message = wire.UpdateDrain
		}
		failures = append(failures, r.tell(ctx, wire.ClaimID(r.plan.Workflow), message))
		if err := r.claimer.Get(ctx, nil); err != nil && !temporal.IsCanceledError(err) {
			failures = append(failures, err)
		}
	}
	if r.counterOurs {
		failures = append(failures, r.tell(ctx, wire.CountID(r.in.Delivery.Notifications), wire.UpdateStop))
	}
	return errors.Join(failures...)
}

// tell sends a message to a workflow that this run started; one that has ended
// is as good as told.
func (r *run) tell(ctx workflow.Context, workflowID, update string) error {
	return call(ctx, update+" "+workflowID, wire.TemporalTell,
		wire.TellInput{WorkflowID: workflowID, Update: update, Input: json.RawMessage("{}")}, nil)
}

func call[In, Out any](ctx workflow.Context, summary string, activity wire.Activity[In, Out], input In, output *Out) error {
	options := activities.CallOptions()
	options.Summary = summary
	return shell.Execute(workflow.WithActivityOptions(ctx, options), activity, input).Get(ctx, output)
}

func (r *run) isLate() bool { return !r.deadline.IsZero() && !r.now().Before(r.deadline) }

package workflows

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
)

// ingestRun is one run of Ingest on its way through the phases.
type ingestRun struct {
	in       IngestInput
	plan     wire.IngestPlan
	started  time.Time
	deadline time.Time // zero: none
	now      func() time.Time

	attributes  attributes
	phase       string
	objects     int64
	tasks       int64
	generation  int
	counterOurs bool
	claimer     workflow.ChildWorkflowFuture
	result      *IngestResult
}

func newIngestRun(ctx workflow.Context, in IngestInput) *ingestRun {
	info := workflow.GetInfo(ctx)
	return &ingestRun{
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
func (r *ingestRun) ingest(ctx workflow.Context) (*IngestResult, error) {
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
		result, err := r.compare(ctx)
		if err != nil {
			return nil, err
		}
		if result.Missing == 0 || r.isLate() {
			return result, nil
		}
	}
}

// prepare looks up all that the input names and lists the objects, before
// anything is started.
func (r *ingestRun) prepare(ctx workflow.Context) error {
	r.show(ctx, phasePrepare, "Looking up bucket, queue, stream and table, listing the objects.")
	var prepared wire.IngestPrepared
	err := r.call(ctx, "look up what the input names", wire.IngestPrepare, r.plan, &prepared)
	r.objects = prepared.Objects
	return err
}

// dispatch starts what works on the tasks, then puts a task per object on the
// queue.
func (r *ingestRun) dispatch(ctx workflow.Context) error {
	r.show(ctx, phaseDispatch, fmt.Sprintf("Putting %d tasks on queue `%s`.", r.objects, r.in.Queue))
	var joined wire.IngestJoined
	if err := r.call(ctx, "join or start the counter", wire.IngestJoinCount, r.plan, &joined); err != nil {
		return err
	}
	r.counterOurs = joined.Started
	if err := r.startClaimer(ctx); err != nil {
		return err
	}
	return r.call(ctx, "a task per object", wire.IngestEnqueue, r.plan, nil)
}

func (r *ingestRun) startClaimer(ctx workflow.Context) error {
	options := workflow.ChildWorkflowOptions{
		WorkflowID:            ClaimID(r.plan.Workflow),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         "Claims the tasks of " + r.plan.Workflow,
	}
	r.claimer = workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), TypeClaimTasks, r.in.claimInput())
	return r.claimer.GetChildWorkflowExecution().Get(ctx, nil)
}

// awaitTasks waits until every task has ended, or the deadline has passed.
func (r *ingestRun) awaitTasks(ctx workflow.Context) error {
	r.show(ctx, phaseStream, fmt.Sprintf("%d tasks stream their objects to `%s`.", r.objects, r.in.Stream))
	var ended wire.IngestTasks
	waiting := activities.WaitOptions()
	waiting.Summary = "until every task has ended"
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, waiting), wire.IngestAwaitTasks,
		wire.IngestAwait{Run: r.plan.Run, Total: r.objects, Deadline: r.deadline}).Get(ctx, &ended)
	r.tasks = ended.Ended
	return err
}

// settle waits until the delivery is quiet, as another generation after the
// first.
func (r *ingestRun) settle(ctx workflow.Context) error {
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
		WorkflowID:            fmt.Sprintf("%s/quiescence/%d", r.plan.Workflow, r.generation),
		WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		ParentClosePolicy:     enumspb.PARENT_CLOSE_POLICY_REQUEST_CANCEL,
		StaticSummary:         "Decides that the last record of " + r.plan.Workflow + " has landed",
	}
	return workflow.ExecuteChildWorkflow(workflow.WithChildOptions(ctx, options), TypeQuiescence,
		r.in.quiescenceInput(deadline)).Get(ctx, nil)
}

// compare reads what was delivered and compares it by record id.
func (r *ingestRun) compare(ctx workflow.Context) (*IngestResult, error) {
	r.show(ctx, phaseCompare, fmt.Sprintf("Comparing what was delivered to `%s` by record id.", r.in.Delivery.Bucket))
	var summary wire.IngestSummary
	transfer := activities.TransferOptions()
	transfer.Summary = "read what was delivered, compare by record id"
	err := workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, transfer), wire.IngestSummarise,
		wire.IngestSummariseInput{Plan: r.plan, Since: r.started}).Get(ctx, &summary)
	if err != nil {
		return nil, err
	}
	return &IngestResult{
		Run: r.plan.Run, Objects: r.objects, Records: summary.Records, Delivered: summary.Delivered,
		Missing: summary.Missing, Duplicated: summary.Duplicated, Tasks: r.tasks,
		Seconds: r.now().Sub(r.started).Seconds(), Report: summary.Report,
	}, nil
}

// finish ends what this run started: the claimer is drained after a success, so
// that nothing of it is cut off, else told to stop its tasks.
func (r *ingestRun) finish(ctx workflow.Context, success bool) error {
	r.show(ctx, phaseFinish, "Ending the claimer and the counter.")
	var failures []error
	if r.claimer != nil {
		message := UpdateStop
		if success {
			message = UpdateDrain
		}
		failures = append(failures, r.tell(ctx, ClaimID(r.plan.Workflow), message))
		if err := r.claimer.Get(ctx, nil); err != nil && !temporal.IsCanceledError(err) {
			failures = append(failures, err)
		}
	}
	if r.counterOurs {
		failures = append(failures, r.tell(ctx, CountID(r.in.Delivery.Notifications), UpdateStop))
	}
	return errors.Join(failures...)
}

// tell sends a message to a workflow that this run started; one that has ended
// is as good as told.
func (r *ingestRun) tell(ctx workflow.Context, workflowID, update string) error {
	return r.call(ctx, update+" "+workflowID, wire.TemporalTell,
		wire.TellInput{WorkflowID: workflowID, Update: update, Input: json.RawMessage("{}")}, nil)
}

func (r *ingestRun) call(ctx workflow.Context, summary, activity string, input, output any) error {
	options := activities.CallOptions()
	options.Summary = summary
	return workflow.ExecuteActivity(workflow.WithActivityOptions(ctx, options), activity, input).Get(ctx, output)
}

func (r *ingestRun) isLate() bool { return !r.deadline.IsZero() && !r.now().Before(r.deadline) }

func (r *ingestRun) status() (IngestStatus, error) {
	s := IngestStatus{
		AsOf: r.now().UTC(), State: StateOpen, Phase: r.phase, Run: r.plan.Run, Objects: r.objects, Tasks: r.tasks,
		Generation: r.generation, Claimer: ClaimID(r.plan.Workflow), Counter: CountID(r.in.Delivery.Notifications), Result: r.result,
	}
	if !r.deadline.IsZero() {
		s.Deadline = &r.deadline
	}
	if r.result != nil {
		s.State = StateDone
	}
	return s, nil
}

// show tells the Web UI where the run is.
func (r *ingestRun) show(ctx workflow.Context, phase, words string) {
	r.phase = phase
	details := fmt.Sprintf("**%s** %s\n\n", phase, words)
	if r.result != nil {
		details = fmt.Sprintf("**DONE** %d of %d records delivered, %d missing, %d duplicated. Report: `s3://%s/%s`\n\n",
			r.result.Delivered, r.result.Records, r.result.Missing, r.result.Duplicated, r.result.Report.Bucket, r.result.Report.Key)
	}
	details += fmt.Sprintf("Objects of `s3://%s/%s` go by queue `%s` and stream `%s` to `s3://%s/%s`.\n\nClaimer `%s`, counter `%s`.",
		r.in.Bucket, r.in.Prefix, r.in.Queue, r.in.Stream, r.in.Delivery.Bucket, r.in.Delivery.Prefix,
		ClaimID(r.plan.Workflow), CountID(r.in.Delivery.Notifications))
	if !r.deadline.IsZero() {
		details += fmt.Sprintf("\n\nDeadline %s.", r.deadline.Format(time.RFC3339))
	}
	workflow.SetCurrentDetails(ctx, details)
}

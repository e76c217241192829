package claimtasks

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/limits"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// Workflow claims tasks from Azure queues and runs each as a workflow Task, at
// most capacity of them at once. One long-lived activity polls, claims and
// starts; the workflow keeps the books: which tasks run, what was poisoned, what
// the queues look like.
//
// Messages: updates capacity, drain, stop; signal finished, which a Task sends
// at its end; queries status and control (the latter is the polling activity's
// own). Temporal's cancel does what stop does and closes the workflow Canceled.
//
// History, workflow tasks not counted: three events for a report of the polling
// activity, of which there is at most one in about two seconds while tasks are
// started; one for the tasks that finish in a fifth of a second on a worker; two for an update. An idle day adds less
// than 100 events in all.
func Workflow(ctx workflow.Context, raw json.RawMessage) (*Status, error) {
	in := continued{Input: defaultInput()}
	if err := shell.DecodeInput(ctx, wire.TypeClaimTasks, raw, &in.Input, &in); err != nil {
		return nil, err
	}
	c := &claimer{root: ctx, in: &in.Input, state: in.Resumed, taskQueue: workflow.GetInfo(ctx).TaskQueueName, ref: claimerRef(ctx), shown: shell.Given(ctx)}
	if c.state == nil {
		c.state = newCarried(in.Capacity, workflow.Now(ctx))
	}
	show := func(ctx workflow.Context) { _ = c.show(ctx) } // fails only where another does, which is told
	c.polling.Mended = show
	shell.Hear(ctx, show)
	if err := c.listen(ctx); err != nil {
		return nil, err
	}
	return c.run(ctx)
}

// claimer is a run of ClaimTasks.
type claimer struct {
	root  workflow.Context // ends with Temporal's cancel
	in    *Input
	state *carried
	// taskQueue is the claimer's own, and its tasks'.
	taskQueue string
	ref       wire.ClaimerRef
	shown     shell.Attributes
	inbox     shell.Inbox
	polling   shell.Waiting
	ended     bool
	failed    string        // last failure of the polling activity itself
	broken    shell.Trouble // it fails for good, which is not its to decide
}

func claimerRef(ctx workflow.Context) wire.ClaimerRef {
	info := workflow.GetInfo(ctx)
	return wire.ClaimerRef{WorkflowID: info.WorkflowExecution.ID, FirstRunID: info.FirstRunID}
}

// target is what the search attribute names: the first queue, or whose URLs.
func (in *Input) target() string {
	switch {
	case in.SignedURLs != nil:
		return in.SignedURLs.ProvisionerID + "/" + in.SignedURLs.WorkerType
	case len(in.Queues) > 0:
		return in.Queues[0].Name
	default:
		return "" // it is refused
	}
}

// Target is what the search attribute of a claimer with this input names.
func Target(input json.RawMessage) string {
	in := defaultInput()
	if json.Unmarshal(input, &in) != nil {
		return "" // it is refused
	}
	return in.target()
}

// run has the activity poll, again and again, until nothing is left to do.
func (c *claimer) run(ctx workflow.Context) (*Status, error) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		ctx.Done().Receive(ctx, nil)
		c.noticeCancel()
	})
	// A cancelled context would end the activity before the tasks have stopped.
	work, _ := workflow.NewDisconnectedContext(ctx)
	workflow.Go(work, c.interruptOver)
	for {
		if err := c.show(work); err != nil {
			return nil, err
		}
		if c.state.over(c.in.MaxTasks) {
			return c.end(work)
		}
		if err := c.poll(work); err != nil {
			return nil, err
		}
		if workflow.GetInfo(work).GetContinueAsNewSuggested() && !c.state.over(c.in.MaxTasks) {
			return nil, c.continueAsNew(work)
		}
	}
}

// noticeCancel turns Temporal's cancel into a stop, so that tasks end in order.
func (c *claimer) noticeCancel() {
	if c.root.Err() != nil {
		c.state.Canceled = true
		c.stop("canceled")
	}
}

func (c *claimer) stop(reason string) {
	if c.state.State != wire.ClaimStopped {
		c.state.State, c.state.Reason = wire.ClaimStopped, limits.Clip(reason, limits.Words)
	}
}

// poll runs one attempt of the polling activity and enters in the books what it
// did, however it ended.
func (c *claimer) poll(ctx workflow.Context) error {
	end, err := shell.Wait[wire.PollMemory](ctx, &c.polling, c.pollOptions(), wire.ClaimPoll, wire.PollInput{
		Claimer: c.ref, Spec: c.in.pollSpec(), Carry: c.state.Carry, Queues: c.state.Queues, TaskQueue: c.taskQueue,
	})
	switch {
	case err != nil: // no error of queues and services ends it: something is wrong with the worker
		c.failed, c.broken = err.Error(), shell.TroubleOf(err)
		workflow.GetLogger(ctx).Error("claimer's polling activity failed; it is started again", "error", err)
		return workflow.Sleep(ctx, 10*time.Second)
	case end.Result != nil:
		c.state.report(*end.Result)
	case end.Left != nil:
		c.state.report(end.Left.Report())
	}
	c.failed, c.broken = "", shell.Trouble{}
	if end.Failure != nil {
		c.failed = end.Failure.Error()
	}
	return nil
}

// interruptOver ends an attempt that waits for nothing any more by the books,
// whether or not a worker has begun it.
func (c *claimer) interruptOver(ctx workflow.Context) {
	for workflow.Await(ctx, func() bool { return c.polling.Uninterrupted() && c.state.over(c.in.MaxTasks) }) == nil {
		c.polling.Interrupt()
	}
}

// pollOptions are for an activity that lives long. A lost worker is noticed after
// three heartbeats, of which there are fewer in quiet times. It ends by itself every twelve hours, so that the start-to-close timeout is
// only for one that hangs.
func (c *claimer) pollOptions() workflow.ActivityOptions {
	options := activities.WaitOptions()
	options.TaskQueue = c.pollQueue()
	options.StartToCloseTimeout = 24 * time.Hour
	options.HeartbeatTimeout = activities.SpacedTimeout(c.state.Carry.Spacing.Std())
	options.Summary = "claims tasks from " + sourceName(c.in)
	if c.state.State != wire.ClaimOpen {
		options.Summary = "waits for the running tasks"
	}
	return options
}

// pollQueue is the task queue of the polling activity. Queues of the storage account
// are polled by workers that have access to it. Signed URLs are access in themselves:
// any worker polls those, and one without credentials has another way with poison.
func (c *claimer) pollQueue() string {
	if c.in.SignedURLs != nil {
		return c.taskQueue
	}
	return wire.AzureTaskQueue(c.taskQueue)
}

func sourceName(in *Input) string {
	if in.SignedURLs != nil {
		return "the queues of " + in.SignedURLs.ProvisionerID + "/" + in.SignedURLs.WorkerType
	}
	if len(in.Queues) > 1 {
		return "queue " + in.Queues[0].Name + " and lower ones"
	}
	return "queue " + in.Queues[0].Name
}

// end closes the claimer after its tasks.
func (c *claimer) end(ctx workflow.Context) (*Status, error) {
	c.stop("every task that it was to claim has ended")
	c.ended = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return nil, err
	}
	c.state.Early = nil // all that was started has been reported and has ended
	if err := c.show(ctx); err != nil {
		return nil, err
	}
	status := c.status(ctx)
	if c.state.Canceled {
		return nil, temporal.NewCanceledError(status)
	}
	return &status, nil
}

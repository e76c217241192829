package workflows

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/wire"
)

// ClaimTasks claims tasks from Azure queues and runs each as a workflow Task, at
// most capacity of them at once. One long-lived activity polls, claims and
// starts; the workflow keeps the books: which tasks run, what was poisoned, what
// the queues look like.
//
// Messages: updates capacity, drain, stop; signal finished, which a Task sends
// at its end; queries status and control (the latter is the polling activity's
// own). Temporal's cancel does what stop does and closes the workflow Canceled.
//
// History, workflow tasks not counted: three events for a report of the polling
// activity, of which there is at most one per 12 tasks as they trickle in and
// one per 32 or more under load; one for a task that finishes; two for an
// update. An idle day adds less than 100 events in all.
func ClaimTasks(ctx workflow.Context, raw json.RawMessage) (*ClaimTasksStatus, error) {
	in := continuedClaimTasks{ClaimTasksInput: defaultClaimTasks()}
	if err := decode(TypeClaimTasks, raw, inputOf(ctx, &in.ClaimTasksInput, &in)); err != nil {
		return nil, err
	}
	c := &claimer{in: &in.ClaimTasksInput, state: in.Resumed, ref: claimerRef(ctx)}
	if c.state == nil {
		c.state = newClaimState(in.Capacity, workflow.Now(ctx))
	} else {
		c.shown = attributes{c.state.State, TypeClaimTasks, c.target()}
	}
	if err := c.handle(ctx); err != nil {
		return nil, err
	}
	return c.run(ctx)
}

// claimer is a run of ClaimTasks.
type claimer struct {
	in      *ClaimTasksInput
	state   *claimState
	ref     wire.ClaimerRef
	shown   attributes
	signals *inbox
	polling waiting
	ended   bool
	failed  string // last failure of the polling activity itself
}

func claimerRef(ctx workflow.Context) wire.ClaimerRef {
	info := workflow.GetInfo(ctx)
	return wire.ClaimerRef{WorkflowID: info.WorkflowExecution.ID, FirstRunID: info.FirstRunID}
}

// target is what the search attribute names: the first queue, or whose URLs.
func (c *claimer) target() string {
	if c.in.SignedURLs != nil {
		return c.in.SignedURLs.ProvisionerID + "/" + c.in.SignedURLs.WorkerType
	}
	return c.in.Queues[0].Name
}

// run has the activity poll, again and again, until nothing is left to do.
func (c *claimer) run(ctx workflow.Context) (*ClaimTasksStatus, error) {
	workflow.Go(ctx, c.watchCancel)
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

// watchCancel turns Temporal's cancel into a stop, so that tasks end in order.
func (c *claimer) watchCancel(ctx workflow.Context) {
	ctx.Done().Receive(ctx, nil)
	c.state.Canceled = true
	c.stop("canceled")
}

func (c *claimer) stop(reason string) {
	if c.state.State != wire.ClaimStopped {
		c.state.State, c.state.Reason = wire.ClaimStopped, reason
	}
}

// poll runs one attempt of the polling activity and enters in the books what it
// did, however it ended.
func (c *claimer) poll(ctx workflow.Context) error {
	end, err := wait[wire.PollReport, wire.PollMemory](ctx, &c.polling, pollOptions(c.in, c.state), wire.ClaimPoll, wire.PollInput{
		Claimer: c.ref, Spec: c.in.pollSpec(), Carry: c.state.Carry, Queues: c.state.Queues,
	})
	switch {
	case err != nil: // no error of queues and services ends it: something is wrong with the worker
		c.failed = err.Error()
		workflow.GetLogger(ctx).Error("claimer's polling activity failed; it is started again", "error", err)
		return workflow.Sleep(ctx, 10*time.Second)
	case end.Result != nil:
		c.state.report(*end.Result)
	case end.Left != nil:
		c.state.report(end.Left.Report())
	}
	c.failed = ""
	if end.Failure != nil {
		c.failed = end.Failure.Error()
	}
	return nil
}

// interruptOver ends an attempt that waits for nothing any more by the books,
// whether or not a worker has begun it.
func (c *claimer) interruptOver(ctx workflow.Context) {
	for workflow.Await(ctx, func() bool { return c.polling.uninterrupted() && c.state.over(c.in.MaxTasks) }) == nil {
		c.polling.interrupt()
	}
}

// pollOptions are for an activity that lives long. A lost worker is noticed within
// 15 s. It ends by itself every twelve hours, so that the start-to-close timeout is
// only for one that hangs.
func pollOptions(in *ClaimTasksInput, s *claimState) workflow.ActivityOptions {
	options := activities.WaitOptions()
	options.StartToCloseTimeout = 24 * time.Hour
	options.HeartbeatTimeout = 15 * time.Second
	options.Summary = "claims tasks from " + sourceName(in)
	if s.State != wire.ClaimOpen {
		options.Summary = "waits for the running tasks"
	}
	return options
}

func sourceName(in *ClaimTasksInput) string {
	if in.SignedURLs != nil {
		return "the queues of " + in.SignedURLs.ProvisionerID + "/" + in.SignedURLs.WorkerType
	}
	if len(in.Queues) > 1 {
		return "queue " + in.Queues[0].Name + " and lower ones"
	}
	return "queue " + in.Queues[0].Name
}

// show brings search attributes and the Web UI's details up to date.
func (c *claimer) show(ctx workflow.Context) error {
	details := c.state.details()
	if c.failed != "" {
		details += "\n\nThe polling activity failed and is started again: " + c.failed
	}
	workflow.SetCurrentDetails(ctx, details)
	return c.shown.set(ctx, c.state.State, TypeClaimTasks, c.target())
}

// end closes the claimer after its tasks.
func (c *claimer) end(ctx workflow.Context) (*ClaimTasksStatus, error) {
	c.stop("every task that it was to claim has ended")
	c.ended = true
	if err := workflow.Await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return nil, err
	}
	c.state.Early = nil // all that was started has been reported and has ended
	if err := c.show(ctx); err != nil {
		return nil, err
	}
	status := c.state.status(workflow.Now(ctx))
	if c.state.Canceled {
		return nil, temporal.NewCanceledError(status)
	}
	return &status, nil
}

// continueAsNew starts a new run; the polling activity has ended, so nothing is
// pending, and the signals that came are taken in first.
func (c *claimer) continueAsNew(ctx workflow.Context) error {
	var next rollOver
	if err := next.await(ctx, func() bool { return workflow.AllHandlersFinished(ctx) }); err != nil {
		return err
	}
	c.signals.take(ctx, c.finished)
	return workflow.NewContinueAsNewError(ctx, TypeClaimTasks, continuedClaimTasks{*c.in, c.state})
}

// handle sets up queries, updates and the signal.
func (c *claimer) handle(ctx workflow.Context) error {
	if err := c.handleQueries(ctx); err != nil {
		return err
	}
	if err := c.handleUpdates(ctx); err != nil {
		return err
	}
	steady, _ := workflow.NewDisconnectedContext(ctx)
	c.signals = newInbox(ctx, SignalFinished)
	c.signals.serve(steady, c.finished)
	return nil
}

func (c *claimer) handleQueries(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, QueryStatus, func() (ClaimTasksStatus, error) {
		return c.state.status(workflow.Now(ctx)), nil
	}); err != nil {
		return err
	}
	return workflow.SetQueryHandler(ctx, wire.QueryClaimControl, func(q wire.ClaimControlQuery) (wire.ClaimControl, error) {
		return c.state.control(c.in, q.Tasks, workflow.GetInfo(ctx).GetContinueAsNewSuggested()), nil
	})
}

// finished takes the end of a task. One of an earlier claimer under the same ID
// is not ours to count.
func (c *claimer) finished(name string, raw json.RawMessage) error {
	var told wire.FinishedTask
	if err := decode(name, raw, &told); err != nil {
		return err
	}
	if told.FirstRunID == "" || told.FirstRunID == c.ref.FirstRunID {
		c.state.finish(wire.TaskID(told.TaskID, told.RunID), told.State != wire.OutcomeCompleted)
	}
	return nil
}

// claimCapacity is the input of the update capacity.
type claimCapacity struct {
	Capacity int `json:"capacity" doc:"required"`
}

// Check reports what is wrong with the values.
func (u *claimCapacity) Check(faults *document.Faults) {
	if !faults.Has("capacity") && (u.Capacity < 1 || u.Capacity > maxCapacity) {
		faults.Add("capacity", "%d is not from 1 to %d", u.Capacity, maxCapacity)
	}
}

// claimDrain is the input of the update drain.
type claimDrain struct {
	Wait duration.Duration `json:"wait"` // for the running tasks, at most 1m
}

// Check reports what is wrong with the values.
func (u *claimDrain) Check(faults *document.Faults) {
	if u.Wait.Std() > time.Minute {
		faults.Add("wait", "%s is longer than 1m; ask again instead", u.Wait)
	}
}

// claimStop is the input of the update stop.
type claimStop struct {
	Reason string `json:"reason"`
}

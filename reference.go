package sluice

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// DefaultTaskQueue is where workers poll that are told nothing else.
const DefaultTaskQueue = "sluice"

// Workflow is a workflow type with its input and its result, so that the compiler
// knows what goes with what. Its input's zero value is the document with every
// default in it, `{}`.
type Workflow[In, Out any] struct {
	Name    string
	summary string // what the Web UI says of one that is started here
}

// Start starts the workflow under an ID and does not wait for it. options may be
// left out; their ID is id, and their task queue DefaultTaskQueue where they name
// none. One of that ID that runs already is refused with Temporal's
// WorkflowExecutionAlreadyStarted, unless the options say otherwise.
func (w Workflow[In, Out]) Start(ctx context.Context, c client.Client, id string, in In, options ...client.StartWorkflowOptions) (Run[Out], error) {
	o := client.StartWorkflowOptions{
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		WorkflowIDConflictPolicy:                 enums.WORKFLOW_ID_CONFLICT_POLICY_FAIL,
	}
	if len(options) > 0 {
		o = options[0]
	}
	o.ID = id
	if o.TaskQueue == "" {
		o.TaskQueue = DefaultTaskQueue
	}
	if o.StaticSummary == "" {
		o.StaticSummary = w.summary
	}
	run, err := c.ExecuteWorkflow(ctx, o, w.Name, in)
	return Run[Out]{run}, err
}

// Run is a workflow that was started, or one that is waited for.
type Run[Out any] struct{ client.WorkflowRun }

// Result waits for the workflow's end, whatever runs it goes through till then, and
// returns its result. How it failed is Temporal's WorkflowExecutionError around an
// ApplicationError, whose type is one of activities.Type….
func (r Run[Out]) Result(ctx context.Context) (out Out, err error) {
	return out, r.Get(ctx, &out)
}

// Of is the workflow of that ID, whoever started it.
func (w Workflow[In, Out]) Of(ctx context.Context, c client.Client, id string) Run[Out] {
	return Run[Out]{c.GetWorkflow(ctx, id, "")}
}

// Update is a message that is answered, with its input and its answer.
type Update[In, Out any] struct{ Name string }

// rolledOver is the error type of an update that was accepted by a run which then
// continued as new: the caller asked the workflow and need not know of its runs.
const rolledOver = "AcceptedUpdateCompletedWorkflow"

// resendAfter leaves the server time to start the next run.
const resendAfter = 100 * time.Millisecond

// Send sends the update and waits for its answer. What is refused is an
// ApplicationError of one of the types activities.Type…, and nothing was done. Where
// no worker polls it waits as long as ctx does.
func (u Update[In, Out]) Send(ctx context.Context, c client.Client, id string, in In) (out Out, err error) {
	for {
		out, err = u.once(ctx, c, id, in)
		var application *temporal.ApplicationError
		if err == nil || !errors.As(err, &application) || application.Type() != rolledOver {
			return out, err
		}
		select {
		case <-ctx.Done():
			return out, ctx.Err()
		case <-time.After(resendAfter):
		}
	}
}

func (u Update[In, Out]) once(ctx context.Context, c client.Client, id string, in In) (out Out, err error) {
	handle, err := c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: u.Name, Args: []any{in}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err != nil {
		return out, err
	}
	return out, handle.Get(ctx, &out)
}

// Signal is a message that is not answered, with its payload. One that the update of
// the same name would refuse is ignored and logged.
type Signal[In any] struct{ Name string }

// Send sends the signal.
func (s Signal[In]) Send(ctx context.Context, c client.Client, id string, in In) error {
	return c.SignalWorkflow(ctx, id, "", s.Name, in)
}

// Query is a question with its answer. Temporal Cloud bills it as an Action, and
// answers from a worker: a workflow's end is better awaited by Run.Result.
type Query[In, Out any] struct{ Name string }

// Ask asks a workflow, running or closed.
func (q Query[In, Out]) Ask(ctx context.Context, c client.Client, id string, in In) (out Out, err error) {
	value, err := c.QueryWorkflow(ctx, id, "", q.Name, in)
	if err != nil {
		return out, err
	}
	return out, value.Get(&out)
}

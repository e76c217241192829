package request

import (
	"errors"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// A request that was reset, or terminated and started again under its ID, meets
// children that an earlier execution started and that run still. They are its own
// and go on: each is followed as if this execution had started it.

// goesOn reports that a try whose future is ready has not ended: its child runs
// already, and is looked at or followed from here on.
func (r *request) goesOn(t *try) bool {
	c := t.child
	switch {
	case c == nil || c.adopted:
		return false
	case c.joining:
		return r.joined(t)
	}
	var runs *temporal.ChildWorkflowExecutionAlreadyStartedError
	if !errors.As(c.started.Get(r.ctx, nil), &runs) {
		return false
	}
	r.join(t)
	return true
}

// join looks whether the workflow that runs under the child's ID is the child.
func (r *request) join(t *try) {
	options := activities.CallOptions()
	options.Summary = "look at " + t.child.id + ", which runs already"
	ctx, cancel := workflow.WithCancel(r.ctx)
	t.child.joining, t.cancel = true, cancel
	t.future = shell.Execute(workflow.WithActivityOptions(ctx, options), wire.JoinChild,
		wire.JoinInput{WorkflowID: t.child.id, Parent: r.id, Type: r.chain.Job(t.job).Workflow}).Future
}

// joined follows the child from here on; a workflow that is not ours ends the try.
func (r *request) joined(t *try) bool {
	c := t.child
	var was wire.Joined
	if t.future.Get(r.ctx, &was) != nil {
		return false
	}
	c.joining, c.adopted, c.told, c.startedAt = false, true, unknown, was.StartedAt
	r.follow(t)
	if t.asked {
		r.cancelTry(t)
	}
	return true
}

package quiescence

import (
	"cmp"
	"encoding/json"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// act begins the entries that follow the result. The watch goes on meanwhile.
func (o *observer) act(ctx workflow.Context) {
	for _, planned := range o.planned(o.result) {
		then := o.then.begin(planned)
		if o.ending.stopped {
			o.then.end(then, cancelledByStop)
			continue
		}
		entry, body := &o.in.Then[then.N], o.body(ctx, o.result, then.N)
		workflow.Go(ctx, func(ctx workflow.Context) {
			err := deliver(ctx, entry, body)
			failure := ""
			if err != nil {
				failure = cmp.Or(activities.Redact(shell.PlainError(err)), "failed")
				workflow.GetLogger(ctx).Error("A then entry failed.", "n", then.N, "error", failure)
			}
			o.then.end(then, failure)
			if status, err := o.status(); err == nil {
				shell.ShowDetails(ctx, workflow.Now(ctx), o.trouble(ctx), o.details(status))
			}
		})
	}
}

// planned are the entries that are to follow a result.
func (o *observer) planned(result *Result) (planned []ThenResult) {
	for n := range o.in.Then {
		if o.in.Then[n].runs(result.Reason, result.Late) {
			planned = append(planned, ThenResult{N: n, Generation: result.Generation})
		}
	}
	return planned
}

func (o *observer) body(ctx workflow.Context, result *Result, n int) thenBody {
	return thenBody{
		Reason:         result.Reason,
		Count:          result.Count,
		Source:         sourceDocument(o.in.Source),
		Generation:     result.Generation,
		IdempotencyKey: idempotencyKey(workflow.GetInfo(ctx).WorkflowExecution.ID, result.Generation, n),
	}
}

// deliver does what an entry says: at least once, under one key.
func deliver(ctx workflow.Context, entry *Then, body thenBody) error {
	switch {
	case entry.HTTP != nil:
		body.Input = entry.HTTP.Input
		return trigger(ctx, entry.HTTP, body)
	case entry.Workflow != nil:
		return startWorkflow(ctx, entry.Workflow, body)
	case entry.Activity != nil:
		options := activities.CallOptions()
		options.HeartbeatTimeout = 0 // it need not heartbeat
		options.ActivityID = body.IdempotencyKey
		options.TaskQueue = entry.Activity.TaskQueue
		options.Summary = "then: " + entry.Activity.Name
		ctx = workflow.WithActivityOptions(ctx, options)
		return workflow.ExecuteActivity(ctx, entry.Activity.Name, orBody(entry.Activity.Input, body)).Get(ctx, nil)
	default:
		body.Input = entry.Signal.Input
		return workflow.SignalExternalWorkflow(ctx, entry.Signal.WorkflowID, "", entry.Signal.Name, body).Get(ctx, nil)
	}
}

func trigger(ctx workflow.Context, call *ThenHTTP, body thenBody) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	options := activities.CallOptions()
	options.Summary = "then: " + call.Method + " " + activities.Redact(call.URL)
	ctx = workflow.WithActivityOptions(ctx, options)
	return shell.Execute(ctx, wire.HTTPTrigger, wire.TriggerInput{
		URL: call.URL, Method: call.Method, Auth: call.Auth, Body: raw, IdempotencyKey: body.IdempotencyKey,
	}).Get(ctx, nil)
}

// startWorkflow starts a child that outlives us. Temporal starts it once; its
// start is what is waited for.
func startWorkflow(ctx workflow.Context, start *ThenWorkflow, body thenBody) error {
	ctx = workflow.WithChildOptions(ctx, workflow.ChildWorkflowOptions{
		WorkflowID:        thenWorkflowID(start.ID, body),
		TaskQueue:         start.TaskQueue,
		ParentClosePolicy: enumspb.PARENT_CLOSE_POLICY_ABANDON,
		Memo:              map[string]any{"idempotencyKey": body.IdempotencyKey},
		StaticSummary:     "after " + workflow.GetInfo(ctx).WorkflowExecution.ID,
	})
	child := workflow.ExecuteChildWorkflow(ctx, start.Type, orBody(start.Input, body))
	return child.GetChildWorkflowExecution().Get(ctx, nil)
}

// thenWorkflowID is the ID of the workflow that an entry starts; the one without
// an ID of its own is named by its key.
func thenWorkflowID(id string, body thenBody) string {
	if id == "" {
		return body.IdempotencyKey
	}
	if body.Generation > 1 {
		return wire.GenerationID(id, body.Generation)
	}
	return id
}

func orBody(input json.RawMessage, body thenBody) any {
	if len(input) == 0 {
		return body
	}
	return input
}

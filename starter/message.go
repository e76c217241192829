package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"

	"sluice"
	"sluice/activities/requests"
	"sluice/starter/internal/equivalent"
	"sluice/workflows"
)

// update sends an update and returns its answer, whatever runs the workflow goes
// through till then.
func (a *app) update(workflowID, name string, input json.RawMessage) (answer json.RawMessage, err error) {
	c, err := a.same(equivalent.Update(workflowID, name, input))
	if err != nil {
		return nil, err
	}
	err = a.whilePolled(workflowID, a.cli.TaskQueue, func(ctx context.Context) (err error) {
		answer, err = sluice.Update[json.RawMessage, json.RawMessage]{Name: name}.Send(ctx, c, workflowID, input)
		return err
	})
	return answer, a.explainClosed(workflowID, err)
}

// askAgain is how often a command that waits for an answer looks whether anybody
// is there to give it.
const askAgain = 3 * time.Second

// unpolled is the failure of a command whose workflow has no worker.
type unpolled struct{ error }

func (u unpolled) Unwrap() error { return u.error }

// whilePolled does what a workflow has to answer, and gives up when no worker
// polls the workflow's task queue: the server would wait for one for ever. It can't
// take an update back, though, and may hold it until a worker comes. queue is where
// the workflow is started if it does not run yet.
func (a *app) whilePolled(workflowID, queue string, ask func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(a.ctx)
	defer cancel(nil)
	answered := make(chan error, 1)
	go func() { answered <- ask(ctx) }()
	tick := time.NewTicker(askAgain)
	defer tick.Stop()
	for told := false; ; told = true {
		select {
		case err := <-answered:
			var given unpolled
			if err != nil && errors.As(context.Cause(ctx), &given) {
				return given
			}
			return err
		case <-tick.C:
		}
		if described, err := a.connected.DescribeWorkflow(ctx, workflowID, ""); err == nil {
			queue = described.RawResponse.GetWorkflowExecutionInfo().GetTaskQueue()
		}
		switch polled, err := requests.Polled(ctx, a.connected, queue); {
		case err == nil && !polled:
			cancel(unpolled{failed("no worker polls queue %s, so nobody answers for %s; what was asked for may still be done when one comes", queue, workflowID)})
		case !told:
			a.note("waiting for %s to answer", workflowID)
		}
	}
}

// explainClosed turns "no such running workflow" into the state that it ended
// in, where it is known.
func (a *app) explainClosed(workflowID string, err error) error {
	var notFound *serviceerror.NotFound
	if !errors.As(err, &notFound) {
		return err
	}
	described, describeErr := a.connected.DescribeWorkflow(a.ctx, workflowID, "")
	if describeErr != nil {
		return failed("no workflow %s", workflowID)
	}
	return failed("%s has ended: %s", workflowID, closedAs(described.RawResponse.GetWorkflowExecutionInfo().GetStatus()))
}

// query asks a workflow, running or closed.
func (a *app) query(workflowID, name string, args ...any) (json.RawMessage, error) {
	c, err := a.same(equivalent.Query(workflowID, name, args))
	if err != nil {
		return nil, err
	}
	answer, err := c.QueryWorkflow(a.ctx, workflowID, "", name, args...)
	if err != nil {
		return nil, a.explainSilence(workflowID, err)
	}
	var document json.RawMessage
	return document, answer.Get(&document)
}

// explainSilence tells why a workflow did not answer a query: there is none, it
// ended before it could answer any, or nobody is there to answer for it.
func (a *app) explainSilence(workflowID string, err error) error {
	var notFound *serviceerror.NotFound
	if errors.As(err, &notFound) {
		return failed("no workflow %s", workflowID)
	}
	described, describeErr := a.connected.DescribeWorkflow(a.ctx, workflowID, "")
	if describeErr != nil {
		return err
	}
	info := described.RawResponse.GetWorkflowExecutionInfo()
	if closed := closedAs(info.GetStatus()); closed != "" {
		if endErr := a.connected.GetWorkflow(a.ctx, workflowID, info.GetExecution().GetRunId()).Get(a.ctx, nil); endErr != nil {
			return failed("%s has ended: %s: %s", workflowID, closed, describe(endErr))
		}
		return failed("%s has ended: %s; it does not answer: %v", workflowID, closed, err)
	}
	queue := info.GetTaskQueue()
	if polled, pollErr := requests.Polled(a.ctx, a.connected, queue); pollErr == nil && !polled {
		return failed("no worker polls queue %s, so nobody answers for %s", queue, workflowID)
	}
	return err
}

// printUpdate sends an update and prints its answer.
func (a *app) printUpdate(workflowID, name string, input json.RawMessage) error {
	answer, err := a.update(workflowID, name, input)
	if err != nil {
		return err
	}
	return a.result(answer)
}

// status prints the status document of a workflow. The exit status tells
// whether it is still alive or how it ended.
func (a *app) status(f tableFlag, workflowID string) error {
	seen, err := a.seeStatus(workflowID)
	if err != nil {
		return err
	}
	return a.showStatus(f, seen, seen.status)
}

// seeStatus asks a workflow for its status and looks at it from outside.
func (a *app) seeStatus(workflowID string, args ...any) (sight, error) {
	status, err := a.query(workflowID, workflows.QueryStatus, args...)
	if err != nil {
		return sight{}, err
	}
	seen, err := a.describe(a.ctx, workflowID)
	seen.status = status
	return seen, err
}

// showStatus prints a status document with what is in the workflow's way, which
// it can't all know itself, and ends as the workflow's state has it.
func (a *app) showStatus(f tableFlag, seen sight, document any) error {
	raw, err := json.Marshal(document)
	if err != nil {
		return err
	}
	seen.status = raw
	t, err := a.troubleOf(seen)
	if err != nil {
		return err
	}
	if raw, err = appendMember(raw, "waitsFor", t.WaitsFor, len(t.WaitsFor) > 0); err != nil {
		return err
	}
	if raw, err = appendMember(raw, "lastError", t.LastError, t.LastError != ""); err != nil {
		return err
	}
	if err := a.rows(f, json.RawMessage(raw)); err != nil {
		return err
	}
	switch closedAs(seen.described.GetWorkflowExecutionInfo().GetStatus()) {
	case "":
		return alive()
	case "Completed":
		return nil
	default:
		return exit{exitFailed, ""}
	}
}

// appendMember puts a member at the end of an object, unless it has that member.
func appendMember(raw json.RawMessage, name string, value any, given bool) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil || !given {
		return raw, err
	}
	if old, there := members[name]; there {
		if !isZero(old) {
			return raw, nil
		}
		return overlay(raw, []field{{name, value}})
	}
	encoded, err := json.Marshal(map[string]any{name: value})
	if err != nil {
		return nil, err
	}
	if len(members) == 0 {
		return encoded, nil
	}
	end := bytes.LastIndexByte(raw, '}')
	return append(append(raw[:end:end], ','), encoded[1:]...), nil
}

package main

import (
	"context"
	"errors"
	"time"

	"sluice/activities/requests"
)

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

package soak

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"sluice/tests/harness"
)

// world is what the generators of a round share.
type world struct {
	s      *harness.Stack
	name   string        // that nothing of another round has
	length time.Duration // of the plan
	gates  string        // a directory of files that jobs wait for
	jobs   string        // task queue of the test jobs
	made   resources
}

// A generator starts a system's work over the length of the plan, awaits its end and
// answers what was promised. Its calls are repeated through whatever the plan does.
type generator struct {
	name string
	run  func(ctx context.Context, w *world) ([]Promise, error)
}

// spread calls do n times, evenly over the length of the plan and side by side.
func (w *world) spread(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	all, ctx := errgroup.WithContext(ctx)
	tick := time.NewTicker(max(w.length/time.Duration(n), time.Millisecond))
	defer tick.Stop()
	for i := range n {
		all.Go(func() error { return do(ctx, i) })
		if i == n-1 {
			break
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return all.Wait()
		}
	}
	return all.Wait()
}

// inTurn is spread with each call begun when the one before has ended.
func (w *world) inTurn(ctx context.Context, n int, do func(ctx context.Context, i int) error) error {
	turn := make(chan int, 1) // whoever has it is next
	turn <- 0
	return w.spread(ctx, n, func(ctx context.Context, _ int) error {
		select {
		case i := <-turn:
			defer func() { turn <- i + 1 }()
			return do(ctx, i)
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// again repeats a call until it succeeds.
func again(ctx context.Context, what string, call func(ctx context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, time.Minute)
		err := call(attempt)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, err)
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// start starts a workflow once, however often it has to ask.
func (w *world) start(ctx context.Context, id, workflowType string, document any) error {
	raw, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return again(ctx, "start "+id, func(ctx context.Context) error {
		options := client.StartWorkflowOptions{ID: id, TaskQueue: w.s.TaskQueue, WorkflowIDReusePolicy: enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE}
		_, err := w.s.Client.ExecuteWorkflow(ctx, options, workflowType, json.RawMessage(raw))
		if started := new(serviceerror.WorkflowExecutionAlreadyStarted); errors.As(err, &started) {
			return nil
		}
		return err
	})
}

// update asks a workflow until it has answered, or has ended.
func (w *world) update(ctx context.Context, id, name string, document any) error {
	raw, err := json.Marshal(document)
	if err != nil {
		return err
	}
	return again(ctx, name+" of "+id, func(ctx context.Context) error {
		handle, err := w.s.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: name,
			Args: []any{json.RawMessage(raw)}, WaitForStage: client.WorkflowUpdateStageCompleted})
		if err == nil {
			err = handle.Get(ctx, nil)
		}
		if err != nil && !w.running(ctx, id) {
			return nil
		}
		return err
	})
}

// running tells whether a workflow is known to run, or can't be asked.
func (w *world) running(ctx context.Context, id string) bool {
	described, err := w.s.Client.DescribeWorkflow(ctx, id, "")
	return err != nil || described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}

// ended waits until a workflow has ended.
func (w *world) ended(ctx context.Context, id string) error {
	return again(ctx, "end of "+id, func(ctx context.Context) error {
		if w.running(ctx, id) {
			return errors.New("it is running")
		}
		return nil
	})
}

// status asks a workflow for its status.
func (w *world) status(ctx context.Context, id string, out any) error {
	value, err := w.s.Client.QueryWorkflow(ctx, id, "", "status")
	if err != nil {
		return err
	}
	return value.Get(out)
}

// until waits until a workflow's status is as wanted.
func (w *world) until(ctx context.Context, id string, wanted func(status map[string]any) error) error {
	return again(ctx, id, func(ctx context.Context) error {
		var status map[string]any
		if err := w.status(ctx, id, &status); err != nil {
			return err
		}
		return wanted(status)
	})
}

// gate is the path of a file that a job waits for.
func (w *world) gate(name string) string { return filepath.Join(w.gates, name) }

// testJob is a job of the test worker, whose loss is noticed by its heartbeats.
func (w *world) testJob(id string, input map[string]any, after ...string) map[string]any {
	return map[string]any{"id": id, "activity": "Test.Job", "taskQueue": w.jobs, "heartbeat": "5s", "timeout": "5m", "input": input, "after": append([]string{}, after...)}
}

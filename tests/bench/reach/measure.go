package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"sluice/tests/harness"
	"sluice/workflows"
)

// callers are how many calls this process has under way.
const callers = 16

func run(ctx context.Context, s *harness.Stack, id, workflowType string, document any) error {
	raw, err := json.Marshal(document)
	if err != nil {
		return err
	}
	_, err = s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: s.TaskQueue}, workflowType, json.RawMessage(raw))
	return err
}

// counted waits until so many workflows are as the query says.
func counted(ctx context.Context, s *harness.Stack, query string, wanted int) error {
	for {
		answer, err := s.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: s.Env("TEMPORAL_NAMESPACE"), Query: query})
		if err == nil && answer.GetCount() >= int64(wanted) {
			return nil
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// claim has so many claimers of one queue do so many tasks, each a request of one short
// job, and answers tasks a second.
func claim(ctx context.Context, s *harness.Stack, claimers, tasks int) (float64, error) {
	bucket, queue := s.NewBucket(), s.Name("tasks")
	s.NewAzureQueue(queue)
	var all errgroup.Group
	all.SetLimit(callers)
	for n := range tasks {
		all.Go(func() error {
			message := fmt.Sprintf(`{"taskId":"%s-%d","payload":{"jobs":[{"id":"list","activity":"S3.List","input":{"bucket":%q}}]}}`, queue, n, bucket)
			_, err := s.Queues.NewQueueClient(queue).EnqueueMessage(ctx, message, nil)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return 0, err
	}
	began := time.Now()
	for n := range claimers {
		id := workflows.ClaimID(fmt.Sprintf("%s-%d", queue, n))
		if err := run(ctx, s, id, workflows.TypeClaimTasks, map[string]any{"queues": []any{map[string]any{"name": queue}}, "capacity": 50}); err != nil {
			return 0, err
		}
		defer func() { _ = s.Client.TerminateWorkflow(ctx, id, "", "measured") }()
	}
	err := counted(ctx, s, fmt.Sprintf("WorkflowType = 'Task' AND WorkflowId STARTS_WITH 'task/%s' AND ExecutionStatus = 'Completed'", queue), tasks)
	return float64(tasks) / time.Since(began).Seconds(), err
}

const (
	produceFor  = 15 * time.Second
	produceEach = 200 // records of an update
)

// produce adds to one Producer as fast as it takes, and answers records a second that
// were sent.
func produce(ctx context.Context, s *harness.Stack) (float64, error) {
	stream := s.NewStream(4)
	id := workflows.ProducerID(stream)
	if err := run(ctx, s, id, workflows.TypeProducer, map[string]any{"stream": stream}); err != nil {
		return 0, err
	}
	began := time.Now()
	var all errgroup.Group
	for caller := range 4 {
		all.Go(func() error {
			for time.Since(began) < produceFor {
				records := make([]map[string]string, produceEach)
				for n := range records {
					records[n] = map[string]string{"Data": "eHh4eHh4eHh4eHh4eHh4eHh4eHh4eHh4", "PartitionKey": fmt.Sprint(caller, "-", n)}
				}
				handle, err := s.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: workflows.UpdateAdd,
					Args: []any{map[string]any{"records": records}}, WaitForStage: client.WorkflowUpdateStageCompleted})
				if err == nil {
					err = handle.Get(ctx, nil)
				}
				if err != nil { // full: it says so, and is asked again
					time.Sleep(200 * time.Millisecond)
				}
			}
			return nil
		})
	}
	if err := all.Wait(); err != nil {
		return 0, err
	}
	seconds := time.Since(began).Seconds()
	answer, err := s.Client.QueryWorkflow(ctx, id, "", workflows.QueryStatus)
	if err != nil {
		return 0, err
	}
	var status struct {
		Sent float64 `json:"sent"`
	}
	if err := answer.Get(&status); err != nil {
		return 0, err
	}
	return status.Sent / seconds, s.Client.TerminateWorkflow(ctx, id, "", "measured")
}

func each(n int, do func(n int) error) error {
	var all errgroup.Group
	all.SetLimit(callers)
	for i := range n {
		all.Go(func() error { return do(i) })
	}
	return all.Wait()
}

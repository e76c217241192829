package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"sluice/tests/harness"
	"sluice/workflows"
)

// listing is a job that is one short activity.
func listing(id, bucket string) map[string]any {
	return map[string]any{"id": id, "activity": "S3.List", "input": map[string]any{"bucket": bucket}}
}

// counted answers the Actions that work takes in a namespace of its own, whose name is
// of letters and digits: the server writes others as _.
func counted(ctx context.Context, s *harness.Stack, from server, namespace string, work func(*harness.Stack) error) (actions, error) {
	own := s.InNamespace(namespace)
	own.StartWorker("SLUICE_LOG_LEVEL=error")
	before, err := from.read(ctx)
	if err != nil {
		return nil, err
	}
	if err := work(own); err != nil {
		return nil, fmt.Errorf("%s: %w", namespace, err)
	}
	after, err := from.read(ctx)
	return after[namespace].since(before[namespace]), err
}

// perRequest is the Actions of a Request of so many jobs that is started without its
// search attributes.
func perRequest(ctx context.Context, s *harness.Stack, from server, jobs int) (actions, error) {
	const requests = 10
	a, err := counted(ctx, s, from, fmt.Sprintf("requests%d", jobs), func(s *harness.Stack) error {
		bucket := s.NewBucket()
		for n := range requests {
			var list []any
			for job := range jobs {
				list = append(list, listing(fmt.Sprint("job", job), bucket))
			}
			request, err := run(ctx, s, fmt.Sprint("request/", n), workflows.TypeRequest, map[string]any{"jobs": list})
			if err != nil {
				return err
			}
			if err := request.Get(ctx, nil); err != nil {
				return err
			}
		}
		return nil
	})
	return a.by(requests), err
}

// perTask is the Actions of a claimed task whose request has one job, the claimer's
// part included.
func perTask(ctx context.Context, s *harness.Stack, from server) (actions, error) {
	const tasks = 200
	a, err := counted(ctx, s, from, "tasks", func(s *harness.Stack) error {
		bucket, queue := s.NewBucket(), s.Name("tasks")
		s.NewAzureQueue(queue)
		for n := range tasks {
			message, err := json.Marshal(map[string]any{"taskId": fmt.Sprint("t", n), "payload": map[string]any{"jobs": []any{listing("list", bucket)}}})
			if err != nil {
				return err
			}
			if _, err := s.Queues.NewQueueClient(queue).EnqueueMessage(ctx, string(message), nil); err != nil {
				return err
			}
		}
		_, err := run(ctx, s, workflows.ClaimID(queue), workflows.TypeClaimTasks, map[string]any{
			"queues": []any{map[string]any{"name": queue}}, "capacity": 20,
		})
		if err != nil {
			return err
		}
		if err := completed(ctx, s, workflows.TypeTask, tasks); err != nil {
			return err
		}
		time.Sleep(5 * time.Second) // the claimer's last report
		return nil
	})
	return a.by(tasks), err
}

// completed waits until so many workflows of a type have completed. To list and count
// workflows is no Action.
func completed(ctx context.Context, s *harness.Stack, workflowType string, wanted int64) error {
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Completed'", workflowType)
	for {
		answer, err := s.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: s.Env("TEMPORAL_NAMESPACE"), Query: query})
		if err == nil && answer.GetCount() >= wanted {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// waitQueries is the Actions a minute of `--wait` beside a request that waits.
func waitQueries(ctx context.Context, s *harness.Stack, from server, window time.Duration) (actions, error) {
	own := s.InNamespace("wait")
	own.StartWorker("SLUICE_LOG_LEVEL=error")
	dir, err := os.MkdirTemp("", "sluice-cost-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "request.json")
	document := fmt.Sprintf(`{"jobs":[{"id":"watch","workflow":%q,"timeout":"1h","input":{"source":{"signal":{}}}}]}`, workflows.TypeQuiescence)
	if err := os.WriteFile(file, []byte(document), 0o600); err != nil {
		return nil, err
	}
	waiting := own.LaunchStarter("request", "run", "--wait", "--id", "request/waits", "-f", file)
	time.Sleep(20 * time.Second) // until nothing begins any more
	before, err := from.read(ctx)
	if err != nil {
		return nil, err
	}
	began := time.Now()
	time.Sleep(window)
	after, err := from.read(ctx)
	if !waiting.Running() {
		return nil, fmt.Errorf("it did not wait: %s", waiting.Logs())
	}
	return after["wait"].since(before["wait"]).by(time.Since(began).Minutes()), err
}

// by is a part of each.
func (a actions) by(n float64) actions {
	parts := actions{}
	for what, count := range a {
		parts[what] = count / n
	}
	return parts
}

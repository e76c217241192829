package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"sluice/internal/quiescence"
	"sluice/internal/wire"
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
		claimer, err := run(ctx, s, workflows.ClaimID(queue), workflows.TypeClaimTasks, map[string]any{
			"queues": []any{map[string]any{"name": queue}}, "capacity": 20,
		})
		if err != nil {
			return err
		}
		if err := told(ctx, s, claimer, tasks); err != nil {
			return err
		}
		return found(ctx, s, fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Completed'", workflows.TypeTask), tasks)
	})
	return a.by(tasks), err
}

// told waits until the claimer has been told the ends of so many tasks, by the signals
// in its history: to read that is no Action.
func told(ctx context.Context, s *harness.Stack, claimer client.WorkflowRun, wanted int) error {
	id, run := claimer.GetID(), claimer.GetRunID()
	ended := 0
	for run != "" {
		events := s.Client.GetWorkflowHistory(ctx, id, run, true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		run = ""
		for events.HasNext() {
			event, err := events.Next()
			if err != nil {
				return err
			}
			if next := event.GetWorkflowExecutionContinuedAsNewEventAttributes(); next != nil {
				run = next.GetNewExecutionRunId()
			}
			signal := event.GetWorkflowExecutionSignaledEventAttributes()
			if signal.GetSignalName() != workflows.SignalFinished {
				continue
			}
			var finished wire.FinishedTasks
			if err := converter.GetDefaultDataConverter().FromPayloads(signal.GetInput(), &finished); err != nil {
				return err
			}
			if ended += len(finished.Tasks); ended >= wanted {
				return nil
			}
		}
	}
	return fmt.Errorf("%s ended when it had been told the ends of %d tasks of %d", id, ended, wanted)
}

// found waits until visibility finds so many workflows. To list and count workflows is no
// Action.
func found(ctx context.Context, s *harness.Stack, query string, wanted int64) error {
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
	// The watch shows its phase once it waits, and is the last that begins.
	if err := found(ctx, own, fmt.Sprintf("WorkflowType = '%s' AND SluiceState = '%s'", workflows.TypeQuiescence, quiescence.Waiting), 1); err != nil {
		return nil, err
	}
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

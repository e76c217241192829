package ingest

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"golang.org/x/sync/errgroup"

	"sluice/activities"
	"sluice/activities/azurequeue"
	"sluice/internal/wire"
)

const (
	enqueueParallel = 8               // messages under way at once
	enqueueBatch    = 64              // messages between two checkpoints
	tasksPoll       = 2 * time.Second // between two looks at the tasks
)

// enqueued is the checkpoint of Enqueue: messages below Sent are on the queue.
type enqueued struct {
	Sent int64 `json:"sent"`
}

// Enqueue puts a task per object of the manifest on the queue. A repeat goes on
// from its checkpoint and may put the few messages since then a second time;
// their task ID is the same, so that the task runs once.
func (i *Activities) Enqueue(ctx context.Context, p wire.IngestPlan) error {
	var at enqueued
	if _, err := activities.Checkpoint(ctx, &at); err != nil {
		return err
	}
	var sent atomic.Int64
	sent.Store(at.Sent)
	alive, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, func() any { return enqueued{sent.Load()} })
	defer stop()
	var batch errgroup.Group
	batch.SetLimit(enqueueParallel)
	err := i.readManifest(alive, p, func(n int64, o listedObject) error {
		if n < at.Sent {
			return nil
		}
		batch.Go(func() error { return i.enqueue(alive, p, n, o) })
		if (n+1)%enqueueBatch != 0 {
			return nil
		}
		if err := batch.Wait(); err != nil {
			return err
		}
		sent.Store(n + 1)
		return nil
	})
	err = cmp.Or(batch.Wait(), err)
	if interrupted := activities.Interrupted(alive, wire.IngestEnqueue.Name, enqueued{sent.Load()}); err != nil && interrupted != nil {
		return interrupted
	}
	return err
}

func (i *Activities) enqueue(ctx context.Context, p wire.IngestPlan, n int64, o listedObject) error {
	raw, err := json.Marshal(map[string]any{"taskId": taskOf(p, n), "runId": 0, "payload": workOn(p, n, o)})
	if err != nil {
		return err
	}
	_, err = i.Azure.NewQueueClient(p.Queue).EnqueueMessage(ctx, base64.StdEncoding.EncodeToString(raw), nil)
	return azurequeue.Failure(wire.AzureQueueSend, p.Queue, err)
}

// workOn is the chain of jobs that takes in object n: describe it (which pins
// its ETag), stream its records, write down how many they were.
func workOn(p wire.IngestPlan, n int64, o listedObject) map[string]any {
	from := func(expression string) map[string]string { return map[string]string{"$from": expression} }
	return map[string]any{
		"type": "ingest",
		"args": map[string]any{"bucket": p.Bucket, "key": o.Key},
		"jobs": []map[string]any{
			{
				"id": "describe", "activity": wire.S3Describe, "retry": 3, "retryWait": "5s", "heartbeat": "15s",
				"input": map[string]any{"bucket": p.Bucket, "key": o.Key},
			},
			{
				"id": "stream", "activity": wire.KinesisPutObject, "after": []string{"describe"}, "retry": 3, "retryWait": "5s",
				"timeout": "12h", "heartbeat": "15s",
				"input": map[string]any{
					"StreamName": p.Stream, "Object": from("jobs.describe.object"), "Format": p.Format, "Envelope": true, "Run": p.Run,
				},
			},
			{
				"id": "progress", "activity": wire.DynamoDBPrefix + "PutItem", "after": []string{"stream"}, "retry": 3, "retryWait": "5s", "heartbeat": "15s",
				"input": map[string]any{
					"TableName": p.Table,
					"Item": map[string]any{
						"id":      map[string]string{"S": progressID(p, n)},
						"object":  map[string]string{"S": "s3://" + p.Bucket + "/" + o.Key},
						"records": map[string]any{"N": from("to_string(jobs.stream.RecordCount)")},
						"stored":  map[string]any{"N": from("to_string(jobs.stream.StoredRecordCount)")},
					},
				},
			},
		},
	}
}

// AwaitTasks waits until the run's tasks have ended, or the deadline has passed;
// it counts them in Temporal's visibility, so that neither a lost signal nor a
// claimer of another run that took one of them matters. It keeps nothing; a
// repeat looks again.
func (i *Activities) AwaitTasks(ctx context.Context, in wire.IngestAwait) (wire.IngestTasks, error) {
	var ended atomic.Int64
	alive, stop := activities.KeepWaiting(ctx, i.Temporal, activities.WaitingHeartbeat, make(chan struct{}, 1),
		func() any { return wire.IngestTasks{Ended: ended.Load(), Total: in.Total} })
	defer stop()
	tick := time.NewTicker(tasksPoll)
	defer tick.Stop()
	query := fmt.Sprintf("WorkflowType = 'Task' AND WorkflowId STARTS_WITH '%s' AND ExecutionStatus != 'Running'", taskPrefix(in.Run))
	for {
		counted, err := i.Temporal.CountWorkflow(alive, &workflowservice.CountWorkflowExecutionsRequest{Query: query})
		if err == nil { // else the server is away for a moment; the tasks go on
			ended.Store(counted.GetCount())
		}
		late := !in.Deadline.IsZero() && time.Now().After(in.Deadline)
		if ended.Load() >= in.Total || late {
			return wire.IngestTasks{Ended: min(ended.Load(), in.Total), Total: in.Total}, nil
		}
		select {
		case <-tick.C:
		case <-alive.Done():
			return wire.IngestTasks{}, activities.Interrupted(alive, wire.IngestAwaitTasks.Name, nil)
		}
	}
}

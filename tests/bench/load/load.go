package main

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"log"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"sluice/internal/quiescence"
	"sluice/tests/harness"
	"sluice/workflows"
)

func keys(m map[string]float64) iter.Seq[string] { return maps.Keys(m) }

// load is all that goes on.
type load struct {
	s       *harness.Stack
	n       sizes
	name    string
	buckets []string // that are watched, a few watches each
	queues  []string
	tables  []string
	streams []string

	mu     sync.Mutex
	took   map[string][]float64 // seconds of answers
	failed int
}

// callers are how many starts this process has under way.
const callers = 16

const watchedBuckets = 10

func newLoad(s *harness.Stack, n sizes) *load {
	l := &load{s: s, n: n, name: s.Name("load"), took: map[string][]float64{}}
	for range watchedBuckets {
		l.buckets = append(l.buckets, s.NewBucket())
	}
	for range n.claimers {
		queue := s.Name("tasks")
		s.NewAzureQueue(queue)
		l.queues = append(l.queues, queue)
	}
	for range n.tables {
		l.tables = append(l.tables, s.NewTable(harness.Table{Read: 20, Write: 20}))
	}
	for range n.streams {
		l.streams = append(l.streams, s.NewStream(1))
	}
	return l
}

func (l *load) request(n int) string { return fmt.Sprintf("request/%s-%d", l.name, n) }

func (l *load) listing() map[string]any {
	return map[string]any{"id": "list", "activity": "S3.List", "input": map[string]any{"bucket": l.buckets[0]}}
}

// run starts a workflow with a document.
func (l *load) run(ctx context.Context, id, workflowType string, document any) error {
	raw, err := json.Marshal(document)
	if err != nil {
		return err
	}
	_, err = l.s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: l.s.TaskQueue}, workflowType, json.RawMessage(raw))
	return err
}

// begin starts what stays: requests that wait for a signal after a short job, watches,
// claimers, producers.
func (l *load) begin(ctx context.Context) error {
	var all errgroup.Group
	all.SetLimit(callers)
	for n := range l.n.requests {
		waits := map[string]any{"id": "waits", "after": []string{"list"}, "workflow": workflows.TypeQuiescence, "timeout": "24h",
			"input": map[string]any{"source": map[string]any{"signal": map[string]any{}}}}
		all.Go(func() error {
			return l.run(ctx, l.request(n), workflows.TypeRequest, map[string]any{"jobs": []any{l.listing(), waits}})
		})
	}
	for n := range l.n.watches {
		source := map[string]any{"s3": map[string]any{"bucket": l.buckets[n%len(l.buckets)]}}
		all.Go(func() error {
			return l.run(ctx, fmt.Sprintf("quiescence/%s-%d", l.name, n), workflows.TypeQuiescence, map[string]any{"source": source, "repeats": 1_000_000})
		})
	}
	for _, queue := range l.queues {
		all.Go(func() error {
			return l.run(ctx, workflows.ClaimID(queue), workflows.TypeClaimTasks, map[string]any{"queues": []any{map[string]any{"name": queue}}})
		})
	}
	for _, stream := range l.streams {
		all.Go(func() error {
			return l.run(ctx, workflows.ProducerID(stream), workflows.TypeProducer, map[string]any{"stream": stream})
		})
	}
	if err := all.Wait(); err != nil {
		return err
	}
	// The watches in the requests are the last that begin.
	return l.counted(ctx, fmt.Sprintf("WorkflowType = '%s' AND SluiceState = '%s' AND WorkflowId STARTS_WITH 'request/%s'",
		workflows.TypeQuiescence, quiescence.Waiting, l.name), l.n.requests)
}

// counted waits until visibility finds so many workflows.
func (l *load) counted(ctx context.Context, query string, wanted int) error {
	for {
		answer, err := l.s.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: l.s.Env("TEMPORAL_NAMESPACE"), Query: query})
		if err == nil && answer.GetCount() >= int64(wanted) {
			return nil
		}
		select {
		case <-time.After(time.Second):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// drive does something with each until the context is over. What is under way then is
// awaited: it has not failed.
func (l *load) drive(ctx context.Context) {
	var all sync.WaitGroup
	every := func(pause time.Duration, do func(ctx context.Context, n int) error) {
		all.Go(func() {
			tick := time.NewTicker(pause)
			defer tick.Stop()
			for n := 0; ; n++ {
				select {
				case <-ctx.Done():
					return
				case <-tick.C:
				}
				own, cancel := context.WithTimeout(context.WithoutCancel(ctx), atMost)
				if err := do(own, n); err != nil {
					l.fails(err)
				}
				cancel()
			}
		})
	}
	every(500*time.Millisecond, func(ctx context.Context, n int) error { return l.suspendAndResume(ctx, n%max(l.n.requests, 1)) })
	every(2*time.Second, l.put)
	for _, queue := range l.queues {
		every(2*time.Second, func(ctx context.Context, n int) error { return l.enqueue(ctx, queue, n) })
	}
	for i, table := range l.tables {
		every(2*time.Second, func(ctx context.Context, n int) error { return l.write(ctx, i, table, n) })
	}
	for _, stream := range l.streams {
		every(500*time.Millisecond, func(ctx context.Context, n int) error { return l.add(ctx, stream, n) })
	}
	all.Wait()
}

// atMost is how long a call may take: no update takes longer than a minute.
const atMost = time.Minute

func (l *load) fails(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failed++; l.failed <= 10 {
		log.Print(err)
	}
}

// update asks a workflow, and keeps how long the answer took.
func (l *load) update(ctx context.Context, id, name, document string) error {
	began := time.Now()
	handle, err := l.s.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{WorkflowID: id, UpdateName: name,
		Args: []any{json.RawMessage(document)}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	if err != nil {
		return fmt.Errorf("%s of %s: %w", name, id, err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.took[name] = append(l.took[name], time.Since(began).Seconds())
	return nil
}

func (l *load) suspendAndResume(ctx context.Context, n int) error {
	if err := l.update(ctx, l.request(n), workflows.UpdateSuspend, `{"wait":"0s"}`); err != nil {
		return err
	}
	return l.update(ctx, l.request(n), workflows.UpdateResume, `{}`)
}

func (l *load) put(ctx context.Context, n int) error {
	bucket, key := l.buckets[n%len(l.buckets)], fmt.Sprint("object", n%100)
	_, err := l.s.S3.PutObject(ctx, &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(key)})
	return err
}

func (l *load) enqueue(ctx context.Context, queue string, n int) error {
	message, err := json.Marshal(map[string]any{"taskId": fmt.Sprint(queue, "-", n), "payload": map[string]any{"jobs": []any{l.listing()}}})
	if err != nil {
		return err
	}
	_, err = l.s.Queues.NewQueueClient(queue).EnqueueMessage(ctx, string(message), nil)
	return err
}

// write is a request of ten items to a table, half of what it takes.
func (l *load) write(ctx context.Context, table int, name string, n int) error {
	var jobs []any
	for item := range 10 {
		jobs = append(jobs, map[string]any{"id": fmt.Sprint("put", item), "activity": "DynamoDB.PutItem", "input": map[string]any{
			"TableName": name, "Item": map[string]any{"id": map[string]any{"S": fmt.Sprint(item)}}}})
	}
	return l.run(ctx, fmt.Sprintf("request/%s-table%d-%d", l.name, table, n), workflows.TypeRequest, map[string]any{"jobs": jobs})
}

func (l *load) add(ctx context.Context, stream string, n int) error {
	return l.update(ctx, workflows.ProducerID(stream), workflows.UpdateAdd, fmt.Sprintf(`{"records":[{"Data":"eHh4","PartitionKey":"%d"}]}`, n))
}

// answers are the 99th hundredths of what updates took, how many were answered and how
// many calls failed.
func (l *load) answers() (p99 map[string]float64, answered, failed int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	p99 = map[string]float64{}
	var all []float64
	for name, took := range l.took {
		all = append(all, took...)
		p99[name] = hundredth(took, 99)
	}
	if len(all) > 0 {
		p99["all"] = hundredth(all, 99)
	}
	return p99, len(all), l.failed
}

func hundredth(values []float64, n int) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)*n/100]
}

// completed is how many claimed tasks completed.
func (l *load) completed(ctx context.Context) (int64, error) {
	answer, err := l.s.Client.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: l.s.Env("TEMPORAL_NAMESPACE"),
		Query: fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Completed'", workflows.TypeTask)})
	return answer.GetCount(), err
}

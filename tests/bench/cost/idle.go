package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"

	"sluice/tests/harness"
	"sluice/workflows"
)

// A thing is measured while it waits, in a namespace and with a worker of its own: the
// server counts by namespace.
type thing struct {
	name    string
	what    string
	limit   float64 // Actions a day to reach
	start   func(ctx context.Context, s *harness.Stack) (stop func(), err error)
	only    func(actions) float64 // the part of them that counts; nil: all
	counted actions               // a day, once measured
}

func (t *thing) figure() float64 {
	if t.only == nil {
		return t.counted.total()
	}
	return t.only(t.counted)
}

// things wait side by side.
func things() []*thing {
	leased := func(a actions) float64 { return a.of(leasing...) }
	return []*thing{
		{name: "nothing", what: "a worker for which there is nothing to do", start: nothing},
		{name: "claimer", what: "idle ClaimTasks", limit: 3500, start: startClaimer},
		{name: "s3", what: "waiting Quiescence on S3", limit: 2000, start: watch(func(s *harness.Stack) any {
			return map[string]any{"s3": map[string]any{"bucket": s.NewBucket()}}
		})},
		{name: "dynamodb", what: "waiting Quiescence on a DynamoDB item, with its owner", limit: 2500, start: watch(func(s *harness.Stack) any {
			table := s.NewTable(harness.Table{Read: 10, Write: 10})
			return map[string]any{"dynamodb": map[string]any{"table": table, "key": map[string]any{"id": map[string]any{"S": "x"}}}}
		})},
		{name: "sqs", what: "waiting Quiescence on SQS", limit: 2000, start: watch(func(s *harness.Stack) any {
			return map[string]any{"sqs": map[string]any{"queueUrl": s.NewQueue(nil)}}
		})},
		{name: "signal", what: "waiting Quiescence on signals", limit: 2000, start: watch(func(*harness.Stack) any {
			return map[string]any{"signal": map[string]any{}}
		})},
		{name: "activity", what: "waiting Quiescence on an activity, 2,880 polls", limit: 2*pollsPerDay + 1600, start: startPolled},
		{name: "counter", what: "idle CountObjects", limit: 2000, start: startCounter},
		{name: "resumer", what: "idle resumer, every minute: its sweeps", limit: 6000, start: startResumer, only: func(a actions) float64 { return a.total() - a.of(scheduling...) }},
		{name: "producer", what: "idle Producer", limit: 0, start: startProducer},
		{name: "owner", what: "idle owner of a budget", limit: 0, start: startOwner},
		{name: "leases", what: "a budget in steady use by one worker: its leases", limit: 4000, start: startSteady, only: leased},
	}
}

// scheduling are what a server counts of a Schedule's own workings, which Temporal Cloud
// bills in its own way.
var scheduling = []string{"StartTimer", "Markers", "ModifyWorkflowProperties"}

const pollsPerDay = 2880 // at the default delay of 30s

func nothing(context.Context, *harness.Stack) (func(), error) { return nil, nil }

// run starts a workflow with a document.
func run(ctx context.Context, s *harness.Stack, id, workflowType string, document any) (client.WorkflowRun, error) {
	raw, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	return s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: id, TaskQueue: s.TaskQueue}, workflowType, json.RawMessage(raw))
}

func startClaimer(ctx context.Context, s *harness.Stack) (func(), error) {
	queue := s.Name("tasks")
	s.NewAzureQueue(queue)
	_, err := run(ctx, s, workflows.ClaimID(queue), workflows.TypeClaimTasks, map[string]any{"queues": []any{map[string]any{"name": queue}}})
	return nil, err
}

func watch(source func(*harness.Stack) any) func(context.Context, *harness.Stack) (func(), error) {
	return func(ctx context.Context, s *harness.Stack) (func(), error) {
		_, err := run(ctx, s, s.Name("quiescence/watch"), workflows.TypeQuiescence, map[string]any{"source": source(s), "repeats": 1_000_000})
		return nil, err
	}
}

// startPolled watches by an activity that a worker in this process runs.
func startPolled(ctx context.Context, s *harness.Stack) (func(), error) {
	queue := s.Name("polled")
	w := worker.New(s.Client, queue, worker.Options{})
	w.RegisterActivityWithOptions(func(context.Context) (map[string]any, error) {
		return map[string]any{"version": "1", "count": 0}, nil
	}, activity.RegisterOptions{Name: "Polled"})
	if err := w.Start(); err != nil {
		return nil, err
	}
	_, err := watch(func(*harness.Stack) any {
		return map[string]any{"activity": map[string]any{"name": "Polled", "taskQueue": queue}}
	})(ctx, s)
	return w.Stop, err
}

func startCounter(ctx context.Context, s *harness.Stack) (func(), error) {
	url := s.NewQueue(nil)
	table := s.NewTable(harness.Table{Read: 100, Write: 100})
	_, err := run(ctx, s, workflows.CountID(url), workflows.TypeCountObjects, map[string]any{"queueUrl": url, "table": table})
	return nil, err
}

func startResumer(_ context.Context, s *harness.Stack) (func(), error) {
	return nil, failed(s.Starter("resumer", "start"))
}

func startProducer(_ context.Context, s *harness.Stack) (func(), error) {
	stream := s.NewStream(1)
	if err := failed(s.Starter("producer", "run", stream)); err != nil {
		return nil, err
	}
	return nil, failed(s.Starter("producer", "add", stream, "--data", "x", "--partition-key", "k"))
}

// startOwner sets a budget by hand, so that its owner stays.
func startOwner(_ context.Context, s *harness.Stack) (func(), error) {
	table := s.NewTable(harness.Table{Read: 10, Write: 10})
	resource := strings.Join([]string{"dynamodb", s.Env("SLUICE_THROUGHPUT_SCOPE"), "us-east-1", table, "write"}, "/")
	return nil, failed(s.Starter("throughput", "set", resource, "--units-per-second", "5"))
}

func failed(r harness.Result) error {
	if r.Code != 0 {
		return fmt.Errorf("%s: exit %d: %s", r.Command, r.Code, strings.TrimSpace(r.Stderr))
	}
	return nil
}

const day = 24 * time.Hour

// idle measures all of them over one window, once none has had anything to do for
// calm.
func idle(ctx context.Context, s *harness.Stack, from server, all []*thing, calm, window time.Duration) error {
	for _, t := range all {
		own := s.InNamespace(t.name)
		own.StartWorker("SLUICE_LOG_LEVEL=error", "SLUICE_CALM_AFTER="+calm.String())
		end, err := t.start(ctx, own)
		if err != nil {
			return fmt.Errorf("%s: %w", t.name, err)
		}
		if end != nil {
			defer end()
		}
	}
	time.Sleep(calm + settling)
	before, err := from.read(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	time.Sleep(window)
	after, err := from.read(ctx)
	if err != nil {
		return err
	}
	for _, t := range all {
		t.counted = actions{}
		for what, n := range after[t.name].since(before[t.name]) {
			t.counted[what] = n * float64(day) / float64(time.Since(began))
		}
	}
	return nil
}

// settling is what comes after the threshold until all are calm, a lease of some
// minutes not counted.
const settling = 90 * time.Second

package sluice

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/activities/azurequeue"
	"sluice/activities/counting"
	"sluice/activities/doctor"
	"sluice/activities/dynamodb"
	"sluice/activities/http"
	"sluice/activities/ingest"
	"sluice/activities/quiescence"
	"sluice/activities/requests"
	"sluice/activities/s3"
	"sluice/activities/sqs"
)

// heartbeatThrottle is how long the SDK may hold back a heartbeat. Cancellation
// travels in the answers to heartbeats, so it bounds how late it arrives.
const heartbeatThrottle = time.Second

// deadlockTimeout is how long a workflow task may compute. To read a request of
// ten thousand jobs takes a third of a second of an idle core, and longer than
// the SDK's second on a machine whose cores are all busy.
const deadlockTimeout = 5 * time.Second

// activitySlots is how many activities run at once. Those that wait for a next poll
// hold one each, so a worker that watches a thousand targets needs more than the
// SDK's default of a thousand to do anything else.
const activitySlots = 4000

// Worker runs every workflow and activity of Sluice, and what else is registered with
// it before it starts: workflows and activities of your own.
type Worker struct {
	worker.Registry
	worker worker.Worker
	azure  worker.Worker           // of what needs access to Azure queues; nil without any
	owners worker.Worker           // of the owners of budgets, which may be any fleet's
	before []func(context.Context) // run in order before the worker stops
	after  []func(context.Context) // run in order when its activities have ended
}

// NewWorker wires the activities to their clients and registers everything.
func NewWorker(c Config, made *Clients, hooks Hooks) *Worker {
	s := &Worker{}
	options := workerOptions(c)
	options.Plugins = []worker.Plugin{Plugin(made.Converter)}
	if c.SuspendOnStop {
		requests := newSuspender(made.Temporal, hooks.logger(), c.StopTimeout)
		options.Interceptors = append(options.Interceptors, requests)
		s.before = append(s.before, requests.suspend)
	}
	s.worker = worker.New(made.Temporal, c.TaskQueue, options)
	s.Registry = s.worker
	RegisterActivities(s.worker, s.systems(c, made, hooks)...)
	return s
}

// ownersSticky is how long the owner of a budget stays with a worker that does not
// take it up: its fleet waits for leases meanwhile.
const ownersSticky = 2 * time.Second

// newOwners polls the task queue of the owners of budgets. They are every worker's,
// of whatever task queue, version and deployment: an owner belongs to no fleet that
// may go.
func newOwners(c Config, made *Clients, db *dynamodb.Activities) worker.Worker {
	w := worker.New(made.Temporal, c.Throughput.Owners(), worker.Options{
		WorkerStopTimeout:            c.StopTimeout,
		DeadlockDetectionTimeout:     deadlockTimeout,
		StickyScheduleToStartTimeout: ownersSticky,
		Plugins:                      []worker.Plugin{newPlugin(made.Converter, registerOwners)},
	})
	RegisterActivities(w, db.Owners())
	return w
}

// systems builds the activities of each system on the outside.
func (s *Worker) systems(c Config, made *Clients, hooks Hooks) []activities.System {
	db := s.newDynamoDB(c, made, hooks)
	s.owners = newOwners(c, made, db)
	store := &s3.Activities{API: made.S3}
	claimer, tasks := newClaiming(c, made)
	sends := &azurequeue.Activities{Service: made.Azure}
	ingestion := &ingest.Activities{
		Temporal: made.Temporal, Converter: made.Converter, TaskQueue: c.TaskQueue, S3: made.S3, Objects: store, SQS: made.SQS,
		Kinesis: kinesis.NewFromConfig(made.AWS), DynamoDB: db, Azure: made.Azure,
	}
	looker := &doctor.Activities{
		AWS: made.AWS, DynamoDB: DynamoDB(made.AWS), Kinesis: ingestion.Kinesis, S3: made.S3, SQS: made.SQS, Azure: made.Azure,
	}
	s.azure = newWithAzure(c, made, claimer, sends, ingestion, looker)
	return []activities.System{
		claimer, tasks, sends, ingestion, db,
		&requests.Children{Temporal: made.Temporal, Converter: made.Converter},
		&requests.Activities{Temporal: made.Temporal},
		store,
		newKinesis(c, made, store, hooks),
		&quiescence.Teller{Client: made.Temporal},
		&quiescence.Activities{Items: dynamodb.NewGatheredReads(db), S3: made.S3, SQS: made.SQS, Temporal: made.Temporal, Calm: c.calm()},
		&counting.Activities{DynamoDB: db, SQS: made.SQS, Temporal: made.Temporal, Calm: c.calm()},
		&sqs.Activities{Client: made.SQS},
		looker,
		http.New(c.HTTPAllow, httpCredentials(os.Environ())),
	}
}

func workerOptions(c Config) worker.Options {
	options := worker.Options{
		WorkerStopTimeout:                  c.StopTimeout,
		MaxConcurrentActivityExecutionSize: activitySlots,
		MaxHeartbeatThrottleInterval:       heartbeatThrottle,
		DefaultHeartbeatThrottleInterval:   heartbeatThrottle,
		DeadlockDetectionTimeout:           deadlockTimeout,
	}
	if c.Deployment != "" {
		options.DeploymentOptions = worker.DeploymentOptions{
			UseVersioning:             true,
			Version:                   worker.WorkerDeploymentVersion{DeploymentName: c.Deployment, BuildID: c.BuildID},
			DefaultVersioningBehavior: workflow.VersioningBehaviorAutoUpgrade,
		}
	}
	return options
}

// Start begins to work; it returns at once.
func (s *Worker) Start() error {
	if err := s.owners.Start(); err != nil {
		return err
	}
	if err := s.worker.Start(); err != nil {
		return err
	}
	if s.azure == nil {
		return nil
	}
	return s.azure.Start()
}

// Stop takes no new work, lets running activities leave their checkpoints, for as long
// as the configuration's StopTimeout, and gives shares of capacity back.
func (s *Worker) Stop(ctx context.Context) {
	for _, f := range s.before {
		f(ctx)
	}
	var polling sync.WaitGroup
	polling.Go(s.worker.Stop)
	if s.azure != nil {
		polling.Go(s.azure.Stop)
	}
	polling.Wait()
	for _, f := range s.after {
		f(ctx)
	}
	s.owners.Stop() // last: shares are given back to them
}

// Run works until stop closes or tells something, as worker.InterruptCh does.
func (s *Worker) Run(ctx context.Context, stop <-chan any) error {
	if err := s.Start(); err != nil {
		return err
	}
	select {
	case <-stop:
	case <-ctx.Done():
	}
	s.Stop(context.WithoutCancel(ctx))
	return nil
}

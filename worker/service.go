package main

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"

	"sluice"
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
const deadlockTimeout = 10 * time.Second

// activitySlots is how many activities run at once. Those that wait for a next poll
// hold one each, so a worker that watches a thousand targets needs more than the
// SDK's default of a thousand to do anything else.
const activitySlots = 4000

// service is the running worker with what has to be stopped around it.
type service struct {
	worker worker.Worker
	azure  worker.Worker           // of what needs access to Azure queues; nil without any
	owners worker.Worker           // of the owners of budgets, which may be any fleet's
	before []func(context.Context) // run in order before the worker stops
	after  []func(context.Context) // run in order when its activities have ended
}

// newService wires the activities to their clients and registers everything.
func newService(c config, made *clients, metrics client.MetricsHandler, logger *zap.Logger) *service {
	s := &service{}
	options := workerOptions(c)
	if c.SuspendOnStop {
		requests := newSuspender(made.temporal, logger, c.StopTimeout)
		options.Interceptors = append(options.Interceptors, requests)
		s.before = append(s.before, requests.suspend)
	}
	s.worker = worker.New(made.temporal, c.TaskQueue, options)
	sluice.RegisterWorkflows(s.worker)
	sluice.RegisterActivities(s.worker, s.systems(c, made, metrics, logger)...)
	return s
}

// ownersSticky is how long the owner of a budget stays with a worker that does not
// take it up: its fleet waits for leases meanwhile.
const ownersSticky = 2 * time.Second

// newOwners polls the task queue of the owners of budgets. They are every worker's,
// of whatever task queue, version and deployment: an owner belongs to no fleet that
// may go.
func newOwners(c config, made *clients, db *dynamodb.Activities) worker.Worker {
	w := worker.New(made.temporal, c.Throughput.Owners(), worker.Options{
		WorkerStopTimeout:            c.StopTimeout,
		DeadlockDetectionTimeout:     deadlockTimeout,
		StickyScheduleToStartTimeout: ownersSticky,
		Interceptors:                 sluice.Interceptors(),
	})
	sluice.RegisterOwners(w)
	sluice.RegisterActivities(w, db.Owners())
	return w
}

// systems builds the activities of each system on the outside.
func (s *service) systems(c config, made *clients, metrics client.MetricsHandler, logger *zap.Logger) []activities.System {
	db := s.newDynamoDB(c, made, metrics, logger)
	s.owners = newOwners(c, made, db)
	store := &s3.Activities{API: made.s3}
	claimer, tasks := newClaiming(c, made)
	sends := &azurequeue.Activities{Service: made.azure}
	ingestion := &ingest.Activities{
		Temporal: made.temporal, Converter: made.converter, TaskQueue: c.TaskQueue, S3: made.s3, Objects: store, SQS: made.sqs,
		Kinesis: kinesis.NewFromConfig(made.aws), DynamoDB: db, Azure: made.azure,
	}
	looker := &doctor.Activities{
		AWS: made.aws, DynamoDB: sluice.DynamoDB(made.aws), Kinesis: ingestion.Kinesis, S3: made.s3, SQS: made.sqs, Azure: made.azure,
	}
	s.azure = newWithAzure(c, made, claimer, sends, ingestion, looker)
	return []activities.System{
		claimer, tasks, sends, ingestion, db,
		&requests.Children{Temporal: made.temporal, Converter: made.converter},
		&requests.Activities{Temporal: made.temporal},
		store,
		newKinesis(c, made, store, metrics, logger),
		&quiescence.Teller{Client: made.temporal},
		&quiescence.Activities{Items: dynamodb.NewGatheredReads(db), S3: made.s3, SQS: made.sqs, Temporal: made.temporal, Calm: c.calm()},
		&counting.Activities{DynamoDB: db, SQS: made.sqs, Temporal: made.temporal, Calm: c.calm()},
		&sqs.Activities{Client: made.sqs},
		looker,
		http.New(c.HTTPAllow, httpCredentials(os.Environ())),
	}
}

func workerOptions(c config) worker.Options {
	options := worker.Options{
		WorkerStopTimeout:                  c.StopTimeout,
		MaxConcurrentActivityExecutionSize: activitySlots,
		MaxHeartbeatThrottleInterval:       heartbeatThrottle,
		DefaultHeartbeatThrottleInterval:   heartbeatThrottle,
		DeadlockDetectionTimeout:           deadlockTimeout,
		Interceptors:                       sluice.Interceptors(),
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

func (s *service) start() error {
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

func (s *service) stop(ctx context.Context) {
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

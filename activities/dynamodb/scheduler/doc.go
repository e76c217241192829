// Package scheduler decides when the DynamoDB calls of one worker go out: by
// priority, then first arrival, within the worker's share of each table's and
// index's budget, which it leases from the owner of that budget. It makes no call
// itself; activities/dynamodb asks it before each one and tells it what became of it.
// How much a call costs, how debts are paid and when a lease is due is decided in
// internal/throughput.
package scheduler

import (
	"context"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"sluice/internal/throughput"
)

// An Owner hands out the shares of budgets by the name of their resource.
// Either call may take as long as its context lets it.
type Owner interface {
	Lease(ctx context.Context, resource string, request throughput.LeaseRequest) (throughput.Lease, error)
	Release(ctx context.Context, resource, worker string) error
}

// Config is what a scheduler needs.
type Config struct {
	// Place is the region, behind "<scope>/" where a scope is set; it begins the
	// names of budgets.
	Place string
	// Worker names this process among the fleet's, and TaskQueue is where it runs
	// activities.
	Worker    string
	TaskQueue string
	// Steady is how long leases of a share that stays alike may be; 0 = 30 s.
	Steady time.Duration
	// Owner is nil where every call goes at once.
	Owner   Owner
	Logger  log.Logger
	Metrics client.MetricsHandler // nil for none
	// Partition is the attribute of the partition key of a table or index, "" where
	// that is not known; nil where it never is. It must not wait.
	Partition func(table, index string) (attribute string)

	MaxInFlight int // calls under way for a table and direction; 0 = 64
	MaxWaiting  int // calls that wait inside the worker for one; 0 = 256
}

// New makes a scheduler; Close gives its shares of capacity back.
func New(c Config) *Scheduler {
	if c.MaxInFlight == 0 {
		c.MaxInFlight = 64
	}
	if c.MaxWaiting == 0 {
		c.MaxWaiting = 256
	}
	if c.Metrics == nil {
		c.Metrics = client.MetricsNopHandler
	}
	if c.Partition == nil {
		c.Partition = func(string, string) string { return "" }
	}
	ctx, stop := context.WithCancel(context.Background())
	return &Scheduler{
		now: time.Now, place: c.Place, worker: c.Worker, taskQueue: c.TaskQueue, steady: c.Steady, owner: c.Owner,
		logger: c.Logger, metrics: c.Metrics, partition: c.Partition,
		inFlight: c.MaxInFlight, slots: c.MaxWaiting,
		accounts: map[accountName]*account{}, hot: map[throughput.Resource]int{},
		ctx: ctx, stop: stop,
	}
}

// Background runs something that ends with the scheduler.
func (s *Scheduler) Background(f func(context.Context)) {
	if s.ctx.Err() == nil {
		s.loops.Go(func() { f(s.ctx) })
	}
}

// Close gives all shares back. Calls that still come get no more of them.
func (s *Scheduler) Close() {
	s.stop()
	s.loops.Wait()
}

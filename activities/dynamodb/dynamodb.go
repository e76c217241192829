package dynamodb

import (
	"context"
	"encoding/json"
	"time"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"

	"sluice/activities"
	"sluice/activities/dynamodb/scheduler"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// Activities is the activities "DynamoDB.<Operation>": their input and output are
// the API's own documents, sent within the table's share of capacity.
type Activities struct {
	service   *service
	marks     activities.HeartbeatRecorder
	logger    log.Logger
	scheduler *scheduler.Scheduler
	keys      tableKeys
	pages     pageLimits
	payload   int
}

// Config is what the activities need.
type Config struct {
	Client *awsdynamodb.Client
	// Place is the region, behind "<scope>/" where a scope is set; it begins the
	// names of budgets.
	Place string
	// Worker names this process among the fleet's.
	Worker string
	// TaskQueue is where this worker runs activities; the owner of a budget looks up
	// there what is provisioned.
	TaskQueue string
	// Steady is how long leases of a share that stays alike may be; 0 = 30 s.
	Steady time.Duration
	// Owner hands out shares of budgets; nil lets every call go at once.
	Owner scheduler.Owner
	// Marks records that a write is about to be sent that must not be repeated;
	// nil in programs without activities.
	Marks   activities.HeartbeatRecorder
	Logger  log.Logger
	Metrics client.MetricsHandler

	MaxInFlight int // calls under way for a table and direction; 0 = 64
	MaxWaiting  int // calls that wait inside the worker for one; 0 = 256
	MaxPayload  int // bytes of an answer; 0 = just under Temporal's 2 MiB
}

// New makes the activities; Close gives the shares of capacity back.
func New(c Config) *Activities {
	if c.MaxPayload == 0 {
		c.MaxPayload = 2<<20 - 16<<10
	}
	d := &Activities{
		service: &service{client: c.Client, asking: make(chan struct{}, 1)},
		marks:   c.Marks,
		logger:  c.Logger,
		payload: c.MaxPayload,
	}
	d.scheduler = scheduler.New(scheduler.Config{
		Place: c.Place, Worker: c.Worker, TaskQueue: c.TaskQueue, Steady: c.Steady, Owner: c.Owner,
		Logger: c.Logger, Metrics: c.Metrics, Partition: d.partition,
		MaxInFlight: c.MaxInFlight, MaxWaiting: c.MaxWaiting,
	})
	return d
}

// Close ends the leases. Calls that still come are refused until their timeout.
func (d *Activities) Close() { d.scheduler.Close() }

// Call is for other activities of this package: one call of an operation, under
// the throttle, from inside the caller's own attempt. document and answer are the
// API's own; priority is 1 (highest) to 5, 0 for the default. Batches come back
// whole. Errors are those of the activities: Throttled and Unavailable (worth
// repeating, with the delay in them), Ambiguous (a write that must not be repeated
// may have been applied: the caller has to look), ConditionFailed and the others.
// It waits about a second at most for capacity, and ends when ctx does.
func (d *Activities) Call(ctx context.Context, operation string, document json.RawMessage, priority int) (json.RawMessage, error) {
	r, err := throughput.ParseRequest(operation, document)
	if err != nil {
		return nil, invalid(r, err)
	}
	return d.do(ctx, &attempt{operation: operation, class: throughput.Class(priority), arrived: time.Now(), number: 1}, r, document)
}

// All registers the operations under their names.
func (d *Activities) All() []activities.Named {
	var all []activities.Named
	for _, op := range throughput.Operations() {
		all = append(all, activities.Named{Name: wire.DynamoDBPrefix + op.Name, Code: func(ctx context.Context, document json.RawMessage) (json.RawMessage, error) {
			return d.run(ctx, op.Name, document)
		}})
	}
	all = append(all, activities.On(wire.AwaitActive, d.awaitActive))
	return append(all, d.Owners().All()...)
}

// run is one attempt of an activity. A repeat keeps the place of the first. Reads,
// writes without condition and batches may be sent again, a transaction for a
// while under the token it was first sent with; for every other write the
// checkpoint tells whether an earlier attempt sent it, and then the activity ends
// Ambiguous.
func (d *Activities) run(ctx context.Context, operation string, document json.RawMessage) (json.RawMessage, error) {
	r, err := throughput.ParseRequest(operation, document)
	if err != nil {
		return nil, invalid(r, err)
	}
	trail, err := newTrail(ctx, d.marks)
	if err != nil {
		return nil, err
	}
	document, r = trail.underToken(ctx, document, r)
	info := activity.GetInfo(ctx)
	a := &attempt{
		operation: operation,
		class:     throughput.Class(info.Priority.PriorityKey),
		arrived:   trail.now.Arrived,
		number:    int(info.Attempt),
		trail:     trail,
	}
	alive, stop := d.keepAlive(ctx, r, trail)
	defer stop()
	if trail.marked() {
		if failed := d.mayRepeat(alive, trail, r); failed != nil {
			return nil, failed.error(a)
		}
	}
	return d.whole(alive, a, r, document)
}

func (d *Activities) keepAlive(ctx context.Context, r throughput.Request, t *trail) (context.Context, func()) {
	if r.Repeatable || d.marks == nil {
		return activities.KeepAlive(ctx, activities.WorkingHeartbeat, t.checkpoint)
	}
	return t.keepAlive(ctx)
}

package throughput

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"sluice/activities"
	"sluice/internal/throughput"
	"sluice/internal/wire"
)

// Owners is how programs reach the owners of budgets.
type Owners struct {
	Client    client.Client
	TaskQueue string // of the owners that are started on demand
}

// Options are how the owner of a resource is started, and its input.
func (o Owners) Options(resource string) (options client.StartWorkflowOptions, input any) {
	target := resource
	if parsed, err := throughput.ParseResource(resource); err == nil {
		target = parsed.Table
	}
	return client.StartWorkflowOptions{
		TypedSearchAttributes:    activities.StartAttributes(wire.StateOpen, wire.TypeThroughput, target),
		ID:                       wire.ThroughputID(resource),
		TaskQueue:                o.TaskQueue,
		WorkflowIDConflictPolicy: enumspb.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		StaticSummary:            "capacity of " + resource,
		StaticDetails:            wire.About(wire.TypeThroughput),
	}, map[string]string{"resource": resource}
}

// Start is the operation that starts an owner where none runs.
func (o Owners) Start(resource string) client.WithStartWorkflowOperation {
	options, input := o.Options(resource)
	return o.Client.NewWithStartWorkflowOperation(options, wire.TypeThroughput, input)
}

// Lease asks the owner of a resource for a share, and starts it where none runs.
// With a client that has AskOnce it is asked once.
func (o Owners) Lease(ctx context.Context, resource string, request throughput.LeaseRequest) (lease throughput.Lease, err error) {
	update := client.UpdateWorkflowOptions{
		WorkflowID:   wire.ThroughputID(resource),
		UpdateName:   wire.UpdateLease,
		Args:         []any{request},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	}
	ctx = context.WithValue(ctx, once{}, true)
	var gone *serviceerror.NotFound
	handle, err := o.Client.UpdateWorkflow(ctx, update)
	if errors.As(err, &gone) {
		handle, err = o.Client.UpdateWithStartWorkflow(ctx, client.UpdateWithStartWorkflowOptions{
			StartWorkflowOperation: o.Start(resource), UpdateOptions: update,
		})
	}
	if err == nil {
		err = handle.Get(ctx, &lease)
	}
	if busy(err) {
		err = fmt.Errorf("%w: %w", throughput.ErrBusy, err)
	}
	if err != nil {
		return lease, fmt.Errorf("lease of %s: %w", resource, err)
	}
	return lease, nil
}

// Release gives a worker's share back; an owner that has ended has it already.
func (o Owners) Release(ctx context.Context, resource, worker string) error {
	handle, err := o.Client.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   wire.ThroughputID(resource),
		UpdateName:   wire.UpdateRelease,
		Args:         []any{Release{Worker: worker}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(ctx, nil)
	}
	var gone *serviceerror.NotFound
	if err == nil || errors.As(err, &gone) {
		return nil
	}
	return fmt.Errorf("release of %s: %w", resource, err)
}

package sluice

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/claimtasks"
	"sluice/workflows/countobjects"
	"sluice/workflows/ingest"
	"sluice/workflows/producer"
	"sluice/workflows/quiescence"
	"sluice/workflows/request"
	"sluice/workflows/resumer"
	"sluice/workflows/task"
	"sluice/workflows/throughput"
)

// registry maps each workflow type to its code. The type is written out, so that
// renaming a function cannot rename the workflow.
var registry = []struct {
	name string
	code any
}{
	{wire.TypeThroughput, throughput.Workflow},
	{wire.TypeClaimTasks, claimtasks.Workflow},
	{wire.TypeTask, task.Workflow},
	{wire.TypeIngest, ingest.Workflow},
	{wire.TypeRequest, request.Workflow},
	{wire.TypeResumeSuspended, resumer.Workflow},
	{wire.TypeQuiescence, quiescence.Workflow},
	{wire.TypePoll, quiescence.Poll},
	{wire.TypeCountObjects, countobjects.Workflow},
	{wire.TypeProducer, producer.Workflow},
}

// WorkflowRegistry takes workflows: a worker, a replayer, the environment of a test.
type WorkflowRegistry interface {
	RegisterWorkflowWithOptions(code any, options workflow.RegisterOptions)
}

// RegisterWorkflows adds every workflow to w, and nothing of what else they need
// (Plugin). It is for the environments of the SDK's test suite.
func RegisterWorkflows(w WorkflowRegistry) {
	for _, r := range registry {
		w.RegisterWorkflowWithOptions(r.code, workflow.RegisterOptions{Name: r.name})
	}
}

// registerOwners adds what the task queue of the owners of budgets needs.
func registerOwners(w WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(throughput.Workflow, workflow.RegisterOptions{Name: wire.TypeThroughput})
}

// WorkflowNames lists the workflow types, as clients and histories spell them.
func WorkflowNames() []string {
	names := make([]string, len(registry))
	for i, r := range registry {
		names[i] = r.name
	}
	return names
}

// noWorkflows is for a worker of activities alone.
func noWorkflows(WorkflowRegistry) {}

// RegisterActivities adds the activities of the systems to w, each under its name.
func RegisterActivities(w worker.ActivityRegistry, systems ...activities.System) {
	activities.Register(w, systems...)
}

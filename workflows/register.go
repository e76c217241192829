package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// registry maps each workflow type to its code. The type is written out, so that
// renaming a function cannot rename the workflow.
var registry = []struct {
	name string
	code any
}{
	{TypeThroughput, Throughput},
	{TypeClaimTasks, ClaimTasks},
	{TypeTask, Task},
	{TypeIngest, Ingest},
	{TypeRequest, Request},
	{TypeResumeSuspended, ResumeSuspended},
	{TypeQuiescence, Quiescence},
	{TypePoll, Poll},
	{TypeCountObjects, CountObjects},
	{TypeProducer, Producer},
}

// Register adds every workflow to w. The worker and the replay tests both call
// it, so a workflow cannot run in one and be unknown to the other.
func Register(w worker.WorkflowRegistry) {
	for _, r := range registry {
		w.RegisterWorkflowWithOptions(r.code, workflow.RegisterOptions{Name: r.name})
	}
}

// Names lists the workflow types, as clients and histories spell them.
func Names() []string {
	names := make([]string, len(registry))
	for i, r := range registry {
		names[i] = r.name
	}
	return names
}

package hostile_test

import (
	"context"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/internal/wire"
)

// starts are the inputs, by workflow type, with the schema of each.
var starts = [][2]string{
	{wire.TypeRequest, "request"}, {wire.TypeRequest, "request"}, {wire.TypeResumeSuspended, "resumer"}, {wire.TypeProducer, "producer"}, {wire.TypeThroughput, "throughput"},
	{wire.TypeQuiescence, "quiescence"}, {wire.TypeQuiescence, "quiescence"}, {wire.TypeCountObjects, "count"}, {wire.TypeClaimTasks, "claim"}, {wire.TypeIngest, "ingest"},
}

// startAny starts a workflow and looks at how its first task ended.
func (s *sender) startAny() {
	start := starts[s.IntN(len(starts))]
	doc := s.Document(s.schemas[start[1]].shape)
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	run, err := s.Client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{ID: s.id(), TaskQueue: s.TaskQueue}, start[0], raw(doc))
	if err != nil {
		if len(doc) < 1<<20 {
			s.tally.fault("start of %s: %v\nof %.1500q", start[0], err, doc)
		}
		s.tally.add("too large for Temporal")
		return
	}
	if fault := s.firstTask(ctx, run); fault != "" {
		s.tally.fault("%s: %s\nof %.1500q", start[0], fault, doc)
		return
	}
	described, err := s.Client.DescribeWorkflow(ctx, run.GetID(), run.GetRunID())
	if err != nil {
		s.tally.fault("describe: %v", err)
		return
	}
	if described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
		s.judge(start[0], start[1], doc, run.Get(ctx, nil))
		return
	}
	s.judge(start[0], start[1], doc, nil)
	_ = s.Client.TerminateWorkflow(ctx, run.GetID(), "", "taken; it is not to work here") // it may have ended
}

// firstTask waits until the first workflow task has completed, and says why it has not.
func (s *sender) firstTask(ctx context.Context, run client.WorkflowRun) string {
	events := s.Client.GetWorkflowHistory(ctx, run.GetID(), run.GetRunID(), true, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return "history: " + err.Error()
		}
		switch event.GetEventType() {
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED:
			return ""
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_FAILED:
			return "the workflow task failed: " + event.GetWorkflowTaskFailedEventAttributes().GetFailure().GetMessage()
		case enumspb.EVENT_TYPE_WORKFLOW_TASK_TIMED_OUT:
			return "the workflow task timed out"
		}
	}
	return "no workflow task"
}

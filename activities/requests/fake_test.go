package requests

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/testsuite"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/internal/wire"
)

// server is as much of Temporal as these activities ask. It notes what it was asked.
type server struct {
	client.Client
	described    *workflowservice.DescribeWorkflowExecutionResponse
	describeErr  error
	pollers      map[string]time.Duration // how long ago a worker polled the queue for workflows
	status       []string                 // answers to the query status, the last again and again
	updates      []string                 // "<name> <input>"
	answers      map[string]string        // to updates, by name
	updateErrs   map[string]error
	pages        []*workflowservice.ListWorkflowExecutionsResponse
	listed       []*workflowservice.ListWorkflowExecutionsRequest
	listErr      error
	run          client.WorkflowRun
	offsets      []int
	describedIDs []string
}

func (s *server) DescribeWorkflow(_ context.Context, id, _ string) (*client.WorkflowExecutionDescription, error) {
	s.describedIDs = append(s.describedIDs, id)
	if s.describeErr != nil {
		return nil, s.describeErr
	}
	return &client.WorkflowExecutionDescription{RawResponse: s.described}, nil
}

func (s *server) DescribeTaskQueue(_ context.Context, queue string, kind enumspb.TaskQueueType) (*workflowservice.DescribeTaskQueueResponse, error) {
	answer := &workflowservice.DescribeTaskQueueResponse{}
	if ago, polled := s.pollers[queue]; polled && kind == enumspb.TASK_QUEUE_TYPE_WORKFLOW {
		answer.Pollers = []*taskqueuepb.PollerInfo{{LastAccessTime: timestamppb.New(time.Now().Add(-ago))}}
	}
	return answer, nil
}

func (s *server) QueryWorkflow(_ context.Context, _, _, query string, args ...any) (converter.EncodedValue, error) {
	if paging, ok := args[0].(map[string]int); ok {
		s.offsets = append(s.offsets, paging["offset"])
	}
	if query != wire.QueryStatus || len(s.status) == 0 {
		return nil, fmt.Errorf("no answer to %s", query)
	}
	answer := s.status[0]
	if len(s.status) > 1 {
		s.status = s.status[1:]
	}
	return encoded(answer)
}

func encoded(document string) (converter.EncodedValue, error) {
	payloads, err := converter.GetDefaultDataConverter().ToPayloads(json.RawMessage(document))
	return client.NewValue(payloads), err
}

func (s *server) UpdateWorkflow(_ context.Context, o client.UpdateWorkflowOptions) (client.WorkflowUpdateHandle, error) {
	raw, err := json.Marshal(o.Args[0])
	if err != nil {
		return nil, err
	}
	s.updates = append(s.updates, o.UpdateName+" "+string(raw))
	return answered{answer: s.answers[o.UpdateName], err: s.updateErrs[o.UpdateName]}, nil
}

type answered struct {
	client.WorkflowUpdateHandle
	answer string
	err    error
}

func (a answered) Get(_ context.Context, v any) error {
	if a.err != nil || a.answer == "" {
		return a.err
	}
	return json.Unmarshal([]byte(a.answer), v)
}

func (s *server) ListWorkflow(_ context.Context, in *workflowservice.ListWorkflowExecutionsRequest) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	s.listed = append(s.listed, in)
	if s.listErr != nil {
		return nil, s.listErr
	}
	return s.pages[len(s.listed)-1], nil
}

func (s *server) GetWorkflow(context.Context, string, string) client.WorkflowRun { return s.run }

// onQueue describes a workflow that runs on the queue.
func onQueue(queue string) *workflowservice.DescribeWorkflowExecutionResponse {
	return &workflowservice.DescribeWorkflowExecutionResponse{WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{
		Execution: &commonpb.WorkflowExecution{WorkflowId: "w"}, Type: &commonpb.WorkflowType{Name: wire.TypeRequest},
		Status: enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, TaskQueue: queue,
	}}
}

// call runs an activity as a worker does.
func call[In, Out any](t *testing.T, a wire.Activity[In, Out], code func(context.Context, In) (*Out, error), in In) (out Out, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions(code, activity.RegisterOptions{Name: a.Name})
	value, err := env.ExecuteActivity(a.Name, in)
	if err == nil {
		require.NoError(t, value.Get(&out))
	}
	return out, err
}

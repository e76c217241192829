package claiming

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"google.golang.org/grpc"

	"sluice/activities"
	"sluice/activities/taskservice"
	"sluice/internal/duration"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// temporalServer is what of Temporal a poller meets: the claimer's workflow, which
// allows what control says, and the tasks that it has started.
type temporalServer struct {
	client.Client

	mu         sync.Mutex
	control    wire.ClaimControl
	asked      int // what it allows
	listed     int // with the tasks that run
	tasks      map[string]enumspb.WorkflowExecutionStatus
	started    []string
	unrecorded []string // started, and not in a heartbeat before
	looked     []string
	signalled  []string // "<workflow ID> <signal>"
	terminated []string
	beats      []wire.PollMemory

	lookFails, signalFails, terminateFails, beatFails error
}

// answers is a query's.
type answers struct {
	converter.EncodedValue
	value any
}

func (a answers) Get(to any) error {
	raw, err := json.Marshal(a.value)
	if err != nil {
		return err
	}
	return json.Unmarshal(raw, to)
}

func (s *temporalServer) QueryWorkflow(_ context.Context, _, _, _ string, args ...any) (converter.EncodedValue, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if args[0].(wire.ClaimControlQuery).Tasks {
		s.listed++
	} else {
		s.asked++
	}
	return answers{value: s.control}, nil
}

func (s *temporalServer) ExecuteWorkflow(_ context.Context, options client.StartWorkflowOptions, _ any, _ ...any) (client.WorkflowRun, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.started = append(s.started, options.ID)
	recorded := len(s.beats) > 0 && slices.ContainsFunc(s.beats[len(s.beats)-1].Tasks, func(t wire.OpenTask) bool { return t.ID() == options.ID })
	if !recorded {
		s.unrecorded = append(s.unrecorded, options.ID)
	}
	return nil, nil
}

func (s *temporalServer) DescribeWorkflow(_ context.Context, id, _ string) (*client.WorkflowExecutionDescription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looked = append(s.looked, id)
	status, there := s.tasks[id]
	switch {
	case s.lookFails != nil:
		return nil, s.lookFails
	case !there:
		return nil, serviceerror.NewNotFound("no such workflow")
	}
	return &client.WorkflowExecutionDescription{RawResponse: &workflowservice.DescribeWorkflowExecutionResponse{
		WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: status}}}, nil
}

func (s *temporalServer) SignalWorkflow(_ context.Context, id, _, name string, _ any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.signalled = append(s.signalled, id+" "+name)
	return s.signalFails
}

func (s *temporalServer) TerminateWorkflow(_ context.Context, id, _, _ string, _ ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.terminated = append(s.terminated, id)
	return s.terminateFails
}

func (s *temporalServer) RecordActivityHeartbeat(_ context.Context, _ []byte, details ...any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beats = append(s.beats, details[0].(wire.PollMemory))
	return s.beatFails
}

// beaten is the number of heartbeats.
func (s *temporalServer) beaten() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.beats)
}

func (s *temporalServer) WorkflowService() workflowservice.WorkflowServiceClient { return quiet{} }

// quiet is a history to which nothing is added.
type quiet struct {
	workflowservice.WorkflowServiceClient
}

func (quiet) GetWorkflowExecutionHistory(ctx context.Context, _ *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// pollInput is a claimer's of these queues.
func pollInput(queues ...string) wire.PollInput {
	in := wire.PollInput{Claimer: ourClaimer, TaskQueue: "sluice", Queues: []wire.QueueState{{Name: "q"}}}
	in.Spec.VisibilityTimeout = duration.Duration(time.Minute)
	in.Spec.Interval, in.Spec.MaxInterval = duration.Duration(time.Second), duration.Duration(time.Minute)
	in.Spec.WarnDequeueCount, in.Spec.MaxDequeueCount = 5, 15
	in.Carry.Credit = taskclaim.Credit{Events: taskclaim.FirstCredit, At: time.Now()}
	for _, name := range queues {
		in.Spec.Queues = append(in.Spec.Queues, wire.QueueRef{Name: name})
	}
	return in
}

// testPoller is one outside of an activity.
func testPoller(t *testing.T, server *temporalServer, a *account, in wire.PollInput) *poller {
	t.Helper()
	c := &Claimer{Temporal: server, Service: &taskservice.Client{HTTP: taskservice.NewHTTP()}}
	if a != nil {
		c.Queues = a.client
	}
	p := &poller{
		Claimer: c, in: in, log: silent{}, meter: client.MetricsNopHandler, azure: newAzure(c, in), cancel: func(error) {}, recall: func() {},
		control: newControl(&activities.HistoryReader{}), books: testLedger(in.Carry, time.Now()),
		pace: taskclaim.Pace{Interval: in.Spec.Interval.Std(), Max: in.Spec.MaxInterval.Std()},
	}
	p.inbox = newInbox(in, p.azure, p.log, p.books, p.count)
	p.starter = &starter{
		spec: in.Spec, claimer: in.Claimer, taskQueue: in.TaskQueue, temporal: server, service: c.Service,
		books: p.books, inbox: p.inbox, log: p.log, meter: p.meter, beat: p.beat, allowed: p.allowed, ask: p.ask,
	}
	p.azure.malformed = func(ctx context.Context, h *held) {
		p.starter.report(ctx, &candidate{held: h, runID: h.message.RunID}, wire.ReasonMalformedPayload)
	}
	t.Cleanup(p.inbox.removals.Wait)
	return p
}

// taskTexts are messages of n tasks.
func taskTexts(prefix string, n int) (texts []string) {
	for i := range n {
		texts = append(texts, fmt.Sprintf(`{"taskId":"%s%d"}`, prefix, i))
	}
	return texts
}

// mute is a Temporal that does not answer.
type mute struct{ client.Client }

func (mute) QueryWorkflow(context.Context, string, string, string, ...any) (converter.EncodedValue, error) {
	return nil, errors.New("no answer")
}

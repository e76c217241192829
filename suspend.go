package sluice

import (
	"context"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.uber.org/zap"

	"sluice/activities/requests"
	"sluice/workflows"
)

// suspender knows the requests whose jobs run in this worker, so that it can
// suspend them before the worker stops (SLUICE_SUSPEND_ON_STOP).
type suspender struct {
	interceptor.WorkerInterceptorBase
	temporal client.Client
	logger   *zap.Logger
	atMost   time.Duration // for all of them together

	mu      sync.Mutex
	running map[string]int // jobs by the workflow ID of their request
}

func newSuspender(c client.Client, logger *zap.Logger, stopTimeout time.Duration) *suspender {
	return &suspender{temporal: c, logger: logger, atMost: stopTimeout / 2, running: map[string]int{}}
}

// InterceptActivity counts the jobs of requests while they run.
func (s *suspender) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	i := &suspenderInbound{suspender: s}
	i.Next = next
	return i
}

type suspenderInbound struct {
	interceptor.ActivityInboundInterceptorBase
	suspender *suspender
}

func (i *suspenderInbound) ExecuteActivity(ctx context.Context, in *interceptor.ExecuteActivityInput) (any, error) {
	info := activity.GetInfo(ctx)
	if info.WorkflowType == nil || info.WorkflowType.Name != workflows.TypeRequest {
		return i.Next.ExecuteActivity(ctx, in)
	}
	i.suspender.count(info.WorkflowExecution.ID, 1)
	defer i.suspender.count(info.WorkflowExecution.ID, -1)
	return i.Next.ExecuteActivity(ctx, in)
}

func (s *suspender) count(request string, change int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running[request] += change; s.running[request] == 0 {
		delete(s.running, request)
	}
}

func (s *suspender) requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for id := range s.running {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

// suspend suspends the requests, without an end to it, and waits until their
// jobs have stopped. The worker goes on polling meanwhile: it may be the only
// one that can run their workflow tasks. What can't be suspended is left to the
// other way of stopping: its jobs end WorkerStopping and another worker goes on.
func (s *suspender) suspend(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, s.atMost)
	defer cancel()
	const parallel = 16
	slots := make(chan struct{}, parallel)
	var all sync.WaitGroup
	for _, id := range s.requests() {
		slots <- struct{}{}
		all.Go(func() {
			defer func() { <-slots }()
			if err := s.suspendOne(ctx, id); err != nil {
				s.logger.Warn("request not suspended; its jobs go on elsewhere", zap.String("request", id), zap.Error(err))
			}
		})
	}
	all.Wait()
}

// suspendOne suspends the request, or the one whose job it is: a child request
// is suspended and resumed with its parent.
func (s *suspender) suspendOne(ctx context.Context, id string) error {
	for {
		described, err := s.temporal.DescribeWorkflow(ctx, id, "")
		if err != nil {
			return err
		}
		if !requests.IsJobOfRequest(described.RawResponse.GetWorkflowExecutionInfo()) {
			break
		}
		id = described.RawResponse.GetWorkflowExecutionInfo().GetParentExecution().GetWorkflowId()
	}
	handle, err := s.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: workflows.UpdateSuspend, WaitForStage: client.WorkflowUpdateStageCompleted,
		Args: []any{map[string]string{"reason": "worker stopping", "ttl": "0s", "wait": "1m"}},
	})
	if err != nil {
		return err
	}
	s.logger.Info("request suspended", zap.String("request", id))
	return handle.Get(ctx, nil)
}

package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	promclient "github.com/prometheus/client_golang/prometheus"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"sluice"
	"sluice/internal/metrics"
	"sluice/internal/wire"
)

// Bounds of the look at suspended requests.
const (
	suspendedEvery   = 30 * time.Second // between looks, however often somebody scrapes
	suspendedTimeout = 3 * time.Second
	suspendedListed  = 100 // whose histories are looked at
	suspendedEvents  = 100 // at the end of a history
)

// suspendedRequests tells of the requests that are suspended now, as visibility and the
// ends of their histories have it, while somebody scrapes. No worker knows them by
// itself: what is suspended runs nowhere.
type suspendedRequests struct {
	temporal  client.Client
	namespace string
	now       func() time.Time

	count, age, remaining *promclient.Desc

	mu     sync.Mutex
	looked time.Time
	last   suspendedLook
	known  map[string]suspension // by run ID and length of history
}

type suspendedLook struct {
	count       int64
	oldest, end time.Time // zero where there is none
	ok          bool
}

// suspension is when one began, and when it ends at the latest.
type suspension struct{ began, ends time.Time }

func newSuspendedRequests(made *sluice.Clients) *suspendedRequests {
	describe := func(name string) *promclient.Desc {
		return promclient.NewDesc(name, metrics.Help(name), nil, promclient.Labels{"namespace": made.Namespace})
	}
	return &suspendedRequests{
		temporal: made.Temporal, namespace: made.Namespace, now: time.Now, known: map[string]suspension{},
		count:     describe("sluice_requests_suspended"),
		age:       describe("sluice_requests_suspension_age_seconds"),
		remaining: describe("sluice_requests_suspension_remaining_seconds"),
	}
}

// Describe tells what is collected.
func (s *suspendedRequests) Describe(to chan<- *promclient.Desc) {
	to <- s.count
	to <- s.age
	to <- s.remaining
}

// Collect tells what is known, and looks anew where that is old. Where Temporal does
// not answer it tells nothing: what was is not what is.
func (s *suspendedRequests) Collect(to chan<- promclient.Metric) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	if now.Sub(s.looked) >= suspendedEvery {
		ctx, cancel := context.WithTimeout(context.Background(), suspendedTimeout)
		defer cancel()
		s.looked, s.last = now, s.look(ctx)
	}
	if !s.last.ok {
		return
	}
	gauge := func(d *promclient.Desc, value float64) {
		to <- promclient.MustNewConstMetric(d, promclient.GaugeValue, value)
	}
	gauge(s.count, float64(s.last.count))
	age := 0.0
	if !s.last.oldest.IsZero() {
		age = max(0, now.Sub(s.last.oldest).Seconds())
	}
	gauge(s.age, age)
	if !s.last.end.IsZero() {
		gauge(s.remaining, max(0, s.last.end.Sub(now).Seconds()))
	}
}

func (s *suspendedRequests) look(ctx context.Context) (found suspendedLook) {
	query := fmt.Sprintf("WorkflowType = '%s' AND ExecutionStatus = 'Running' AND %s = 'SUSPENDED'", wire.TypeRequest, wire.AttributeState)
	counted, err := s.temporal.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: s.namespace, Query: query})
	if err != nil {
		return suspendedLook{}
	}
	if found.count = counted.GetCount(); found.count == 0 {
		s.known = map[string]suspension{}
		return suspendedLook{ok: true}
	}
	listed, err := s.temporal.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: s.namespace, Query: query, PageSize: suspendedListed})
	if err != nil {
		return suspendedLook{}
	}
	known := map[string]suspension{}
	for _, e := range listed.GetExecutions() {
		key := fmt.Sprintf("%s/%d", e.GetExecution().GetRunId(), e.GetHistoryLength())
		one, ok := s.known[key]
		if !ok {
			if one, err = s.read(ctx, e); err != nil {
				continue // ended meanwhile, or the time is over: the others tell
			}
		}
		known[key] = one
		found.oldest = earlier(found.oldest, one.began)
		found.end = earlier(found.end, one.ends)
	}
	s.known = known
	found.ok = true
	return found
}

// read finds in the end of a history when the request was suspended and which timer
// is set.
func (s *suspendedRequests) read(ctx context.Context, e *workflowpb.WorkflowExecutionInfo) (suspension, error) {
	answer, err := s.temporal.WorkflowService().GetWorkflowExecutionHistoryReverse(ctx, &workflowservice.GetWorkflowExecutionHistoryReverseRequest{
		Namespace: s.namespace, MaximumPageSize: suspendedEvents,
		Execution: &commonpb.WorkflowExecution{WorkflowId: e.GetExecution().GetWorkflowId(), RunId: e.GetExecution().GetRunId()},
	})
	if err != nil {
		return suspension{}, err
	}
	return suspensionIn(answer.GetHistory().GetEvents()), nil
}

// suspensionIn reads events, the newest first: the suspension began with the state, or
// before all of them; what is set to end it is the earliest of the timers that are set.
func suspensionIn(events []*historypb.HistoryEvent) (found suspension) {
	over := map[int64]bool{}
	for _, e := range events {
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_TIMER_FIRED:
			over[e.GetTimerFiredEventAttributes().GetStartedEventId()] = true
		case enumspb.EVENT_TYPE_TIMER_CANCELED:
			over[e.GetTimerCanceledEventAttributes().GetStartedEventId()] = true
		case enumspb.EVENT_TYPE_TIMER_STARTED:
			if !over[e.GetEventId()] {
				found.ends = earlier(found.ends, e.GetEventTime().AsTime().Add(e.GetTimerStartedEventAttributes().GetStartToFireTimeout().AsDuration()))
			}
		case enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES:
			if found.began.IsZero() && stateOf(e) == "SUSPENDED" {
				found.began = e.GetEventTime().AsTime()
			}
		default:
		}
	}
	if found.began.IsZero() && len(events) > 0 {
		found.began = events[len(events)-1].GetEventTime().AsTime()
	}
	return found
}

func stateOf(e *historypb.HistoryEvent) (state string) {
	payload := e.GetUpsertWorkflowSearchAttributesEventAttributes().GetSearchAttributes().GetIndexedFields()[wire.AttributeState]
	_ = converter.GetDefaultDataConverter().FromPayload(payload, &state) // search attributes are never encrypted
	return state
}

// earlier is the earlier of two times, of which the zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

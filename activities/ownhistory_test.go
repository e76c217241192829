package activities

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"
)

// historyServer answers the long polls of a history as told, one call each; after
// the last answer it tells that the run has closed.
type historyServer struct {
	workflowservice.WorkflowServiceClient
	answers []historyAnswer
	tokens  []string // with which it was called
	called  []time.Duration
	began   time.Time
}

type historyAnswer struct {
	after  time.Duration
	events []*historypb.HistoryEvent
	raw    bool
	err    error
}

func (s *historyServer) GetWorkflowExecutionHistory(ctx context.Context, in *workflowservice.GetWorkflowExecutionHistoryRequest, _ ...grpc.CallOption) (*workflowservice.GetWorkflowExecutionHistoryResponse, error) {
	s.tokens, s.called = append(s.tokens, string(in.GetNextPageToken())), append(s.called, time.Since(s.began))
	n := len(s.tokens) - 1
	if n >= len(s.answers) {
		return &workflowservice.GetWorkflowExecutionHistoryResponse{}, nil
	}
	a := s.answers[n]
	if err := Sleep(ctx, a.after); err != nil {
		return nil, err
	}
	if a.err != nil {
		return nil, a.err
	}
	out := &workflowservice.GetWorkflowExecutionHistoryResponse{NextPageToken: []byte{byte('a' + n)}}
	if !a.raw {
		out.History = &historypb.History{Events: a.events}
		return out, nil
	}
	data, err := proto.Marshal(&historypb.History{Events: a.events})
	out.RawHistory = []*commonpb.DataBlob{{EncodingType: enumspb.ENCODING_TYPE_PROTO3, Data: data}}
	return out, err
}

func scheduledEvent(id int64, activityID string) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{EventId: id, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
		Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityId: activityID}}}
}

func cancelEvent(id, scheduled int64) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{EventId: id, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED,
		Attributes: &historypb.HistoryEvent_ActivityTaskCancelRequestedEventAttributes{
			ActivityTaskCancelRequestedEventAttributes: &historypb.ActivityTaskCancelRequestedEventAttributes{ScheduledEventId: scheduled}}}
}

// The cancel is found across pages, quiet times and failures, in either form of the
// answer, and is nobody else's.
func TestCancelIsFoundInTheHistory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &historyServer{began: time.Now(), answers: []historyAnswer{
			{events: []*historypb.HistoryEvent{scheduledEvent(5, "5"), cancelEvent(6, 5), scheduledEvent(7, "7")}},
			{after: 20 * time.Second},
			{after: time.Second, err: serviceerror.NewUnavailable("restarts")},
			{after: 20 * time.Second},
			{err: serviceerror.NewInvalidArgument("no such place")},
			{events: []*historypb.HistoryEvent{scheduledEvent(5, "5"), cancelEvent(6, 5), scheduledEvent(7, "7")}, raw: true},
			{after: 10 * time.Second, events: []*historypb.HistoryEvent{cancelEvent(8, 7)}, raw: true},
		}}
		cancelled := cancelOf("7")
		reader := &HistoryReader{service: server}
		require.True(t, reader.Follow(t.Context(), func(events []*historypb.HistoryEvent) bool { return !cancelled(events) }))
		require.Equal(t, []string{"", "a", "b", "b", "d", "", "f"}, server.tokens)
	})
}

// The end of the run or of the activity ends it, and no answer makes it spin.
func TestFollowingAHistoryEndsAndNeverSpins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		all := func([]*historypb.HistoryEvent) bool { return true }
		closed := &HistoryReader{service: &historyServer{answers: []historyAnswer{{}}}}
		require.False(t, closed.Follow(t.Context(), all))
		deleted := &HistoryReader{service: &historyServer{answers: []historyAnswer{{err: serviceerror.NewNotFound("gone")}}}}
		require.False(t, deleted.Follow(t.Context(), all))

		for name, c := range map[string]struct {
			answer historyAnswer
			most   int // calls in a minute
		}{
			"empty":      {historyAnswer{}, 301},
			"quiet":      {historyAnswer{after: 20 * time.Second}, 4},
			"hangs":      {historyAnswer{after: time.Hour}, 1},
			"fails":      {historyAnswer{err: serviceerror.NewUnavailable("down")}, 12},
			"overloaded": {historyAnswer{err: serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_CONCURRENT_LIMIT, "too many")}, 5},
		} {
			server := &historyServer{began: time.Now()}
			for range 1000 {
				server.answers = append(server.answers, c.answer)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			require.False(t, (&HistoryReader{service: server}).Follow(ctx, all), name)
			cancel()
			require.LessOrEqual(t, len(server.tokens), c.most, "%s: %v", name, server.called)
			require.NotEmpty(t, server.tokens)
		}
	})
}

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/durationpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/internal/wire"
)

// When a suspension began and what ends it is in the last events of a request.
func TestASuspensionIsReadFromTheEndOfAHistory(t *testing.T) {
	start := time.Unix(1000, 0).UTC()
	at := func(seconds int) *timestamppb.Timestamp {
		return timestamppb.New(start.Add(time.Duration(seconds) * time.Second))
	}
	timer := func(id int64, second int, takes time.Duration) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{EventId: id, EventTime: at(second), EventType: enumspb.EVENT_TYPE_TIMER_STARTED,
			Attributes: &historypb.HistoryEvent_TimerStartedEventAttributes{TimerStartedEventAttributes: &historypb.TimerStartedEventAttributes{
				StartToFireTimeout: durationpb.New(takes)}}}
	}
	state := func(id int64, second int, value string) *historypb.HistoryEvent {
		return &historypb.HistoryEvent{EventId: id, EventTime: at(second), EventType: enumspb.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES,
			Attributes: &historypb.HistoryEvent_UpsertWorkflowSearchAttributesEventAttributes{
				UpsertWorkflowSearchAttributesEventAttributes: &historypb.UpsertWorkflowSearchAttributesEventAttributes{
					SearchAttributes: &commonpb.SearchAttributes{IndexedFields: map[string]*commonpb.Payload{
						wire.AttributeState: {Metadata: map[string][]byte{"encoding": []byte("json/plain")}, Data: []byte(`"` + value + `"`)}}}}}}
	}
	fired := &historypb.HistoryEvent{EventId: 9, EventTime: at(30), EventType: enumspb.EVENT_TYPE_TIMER_FIRED,
		Attributes: &historypb.HistoryEvent_TimerFiredEventAttributes{TimerFiredEventAttributes: &historypb.TimerFiredEventAttributes{StartedEventId: 7}}}
	found := suspensionIn([]*historypb.HistoryEvent{
		fired, timer(8, 21, time.Hour), timer(7, 20, time.Second), state(6, 20, "SUSPENDED"), timer(5, 10, 24*time.Hour), state(4, 10, "SUSPENDING"),
	})
	require.Equal(t, suspension{began: start.Add(20 * time.Second), ends: start.Add(21*time.Second + time.Hour)}, found)
	require.Equal(t, suspension{began: start.Add(30 * time.Second)}, suspensionIn([]*historypb.HistoryEvent{fired}), "it is older than what was read")
}

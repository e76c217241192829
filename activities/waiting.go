package activities

import (
	"context"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// promptCancel is how soon an activity that waits learns that it is cancelled.
const promptCancel = 2 * time.Second

// KeepWaiting is KeepAlive for an activity that waits for long, has other news to
// tell in between (news, of capacity one), and learns of a cancel within
// promptCancel however rarely it heartbeats. Its heartbeats are the client's: the
// activity's own keep a goroutine and a timer each, which wake the worker once
// more.
func KeepWaiting(ctx context.Context, server client.Client, every time.Duration, news chan struct{}, state func() any) (context.Context, func()) {
	token := activity.GetInfo(ctx).TaskToken
	alive, stop := KeepBeating(ctx, every, news, false, func(steady context.Context) error {
		err := server.RecordActivityHeartbeat(steady, token, state())
		if temporal.IsCanceledError(err) && ctx.Err() == nil {
			HearOfCancel(steady, state())
		}
		return EndingAnswer(err)
	})
	var watching sync.WaitGroup
	if every > promptCancel {
		watching.Go(func() { beatOnCancel(alive, OwnHistory(ctx, server), news) })
	}
	return alive, func() {
		stop()
		watching.Wait()
	}
}

// HearOfCancel lets the SDK hear of a cancel that the client's heartbeat told of: it
// reports the end of an activity as cancelled only then, and else as failed.
func HearOfCancel(ctx context.Context, state any) { activity.RecordHeartbeat(ctx, state) }

// beatOnCancel asks for heartbeats, whose answer tells, once the history of the
// workflow says that this activity is to be cancelled.
func beatOnCancel(alive context.Context, own *HistoryReader, news chan<- struct{}) {
	cancelled := cancelOf(activity.GetInfo(alive).ActivityID)
	if !own.Follow(alive, func(events []*historypb.HistoryEvent) bool { return !cancelled(events) }) {
		return
	}
	for alive.Err() == nil {
		Notify(news)
		_ = Sleep(alive, promptCancel/2)
	}
}

// cancelOf looks in a history for the cancel of an activity, page by page.
func cancelOf(activityID string) func([]*historypb.HistoryEvent) bool {
	scheduled := int64(0)
	return func(events []*historypb.HistoryEvent) bool {
		for _, e := range events {
			switch e.GetEventType() {
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED:
				if e.GetActivityTaskScheduledEventAttributes().GetActivityId() == activityID {
					scheduled = e.GetEventId()
				}
			case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
				if scheduled > 0 && e.GetActivityTaskCancelRequestedEventAttributes().GetScheduledEventId() == scheduled {
					return true
				}
			default:
			}
		}
		return false
	}
}

package claiming

import (
	"context"
	"sync"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"sluice/activities"
	"sluice/internal/wire"
)

// control is what the workflow allows, as it answered last. It is asked again once
// its history tells of a message, and not while nothing happens: a query is billed,
// and the long poll of a history is not.
type control struct {
	own   *activities.HistoryReader
	ended chan struct{} // closed when the history is followed no more
	woken chan struct{} // of capacity one: there is something to look at

	mu    sync.Mutex
	stale bool // something came since the answer, or there is none
	asked time.Time
	last  wire.ClaimControl
}

func newControl(own *activities.HistoryReader) *control {
	return &control{own: own, ended: make(chan struct{}), woken: make(chan struct{}, 1), stale: true}
}

// follow hears of messages until ctx ends; of a cancel the next heartbeat's answer
// tells, which beat sends. What was written before since is known already.
func (c *control) follow(ctx context.Context, since time.Time, beat func()) {
	defer close(c.ended)
	c.own.Follow(ctx, func(events []*historypb.HistoryEvent) bool {
		c.hear(events, since, beat)
		return true
	})
}

func (c *control) hear(events []*historypb.HistoryEvent, since time.Time, beat func()) {
	for _, e := range events {
		if e.GetEventTime().AsTime().Before(since) {
			continue
		}
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
			beat()
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED,
			enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
			enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED:
			c.invalidate()
		default:
		}
	}
}

func (c *control) invalidate() {
	c.unanswered()
	activities.Notify(c.woken)
}

// current is the last answer, and whether it still holds. It holds a moment only
// while the history can't be followed.
func (c *control) current(now time.Time) (wire.ClaimControl, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	lost := c.own.Failing() || over(c.ended)
	return c.last, !c.stale && !(lost && now.Sub(c.asked) >= controlEvery)
}

// asking marks the answer that is asked for as the one that holds: what comes from
// now on makes it stale again.
func (c *control) asking(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale, c.asked = false, now
}

// unanswered has the workflow asked once more, at the next look.
func (c *control) unanswered() {
	c.mu.Lock()
	c.stale = true
	c.mu.Unlock()
}

// answered keeps an answer and tells whether anything has changed by it.
func (c *control) answered(answer wire.ClaimControl) (changed bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	changed = c.last.State != "" && (c.last.State != answer.State || c.last.Capacity != answer.Capacity || c.last.Running != answer.Running)
	c.last = answer
	return changed
}

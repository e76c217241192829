package claiming

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"sluice/activities"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

func event(kind enumspb.EventType, at time.Time) []*historypb.HistoryEvent {
	return []*historypb.HistoryEvent{{EventType: kind, EventTime: timestamppb.New(at)}}
}

// The workflow is asked once, and again only after a message; what comes while it is
// asked counts as coming after its answer.
func TestAnIdleClaimerAsksItsWorkflowOnlyAfterAMessage(t *testing.T) {
	c := newControl(&activities.HistoryReader{})
	now := time.Now()
	holds := func() bool { _, ok := c.current(now.Add(time.Hour)); return ok }
	require.False(t, holds(), "it was not asked yet")
	c.asking(now)
	require.False(t, c.answered(wire.ClaimControl{State: wire.ClaimOpen, Capacity: 5}), "the first answer is no change")
	require.True(t, holds())

	began, beats := now, 0
	hear := func(kind enumspb.EventType, at time.Time) { c.hear(event(kind, at), began, func() { beats++ }) }
	for _, kind := range []enumspb.EventType{
		enumspb.EVENT_TYPE_WORKFLOW_TASK_COMPLETED, enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED, enumspb.EVENT_TYPE_TIMER_FIRED,
	} {
		hear(kind, now.Add(time.Second))
		require.True(t, holds(), kind)
	}
	for _, kind := range []enumspb.EventType{
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED, enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED,
		enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED,
	} {
		hear(kind, now.Add(-time.Second))
		require.True(t, holds(), "what came before the activity it knows")
		hear(kind, now.Add(time.Second))
		require.False(t, holds(), kind)
		require.Len(t, c.woken, 1, "the loop need not wait")
		<-c.woken
		c.asking(now)
		hear(kind, now.Add(2*time.Second))
		require.True(t, c.answered(wire.ClaimControl{State: wire.ClaimOpen, Capacity: int(kind)}))
		require.False(t, holds(), "it came while it was asked")
		<-c.woken
		c.asking(now)
		require.False(t, c.answered(wire.ClaimControl{State: wire.ClaimOpen, Capacity: int(kind)}))
		require.True(t, holds())
	}
	require.Zero(t, beats)
	hear(enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED, now.Add(time.Second))
	require.Equal(t, 1, beats, "a heartbeat's answer tells of a cancel")
}

// Where the history can't be followed, the answer holds for two seconds only.
func TestAClaimerThatHearsNothingAsks(t *testing.T) {
	c := newControl(&activities.HistoryReader{})
	now := time.Now()
	c.asking(now)
	c.answered(wire.ClaimControl{State: wire.ClaimOpen})
	close(c.ended)
	_, holds := c.current(now.Add(controlEvery - time.Millisecond))
	require.True(t, holds)
	_, holds = c.current(now.Add(controlEvery))
	require.False(t, holds)
}

// A claimer calms down after ten minutes, once, where its allowance pays for that,
// and wakes by what its workflow is told in any case, not by errors that come and go.
func TestClaimerChangesTheSpacingOfItsHeartbeats(t *testing.T) {
	open := wire.ClaimControl{State: wire.ClaimOpen, Capacity: 5}
	made := func(spacing, quiet time.Duration, credit float64) *ledger {
		now := time.Now()
		beats := spacings{least: 10 * time.Second, inForce: max(10*time.Second, spacing), after: activities.Calm{Spacing: 30 * time.Second}.Beats}
		l := newLedger(wire.PollInput{Queues: []wire.QueueState{{Name: "q"}}}, beats, 10*time.Minute, now)
		l.began, l.active, l.credit = now.Add(-time.Hour), now.Add(-quiet), taskclaim.Credit{Events: credit, At: now}
		return l
	}
	due := func(l *ledger) (time.Duration, bool) { return l.due(open, time.Now()) }

	_, ends := due(made(0, 9*time.Minute, 18))
	require.False(t, ends)
	spacing, ends := due(made(0, 11*time.Minute, 18))
	require.True(t, ends)
	require.Equal(t, 30*time.Second, spacing)
	_, ends = due(made(0, 11*time.Minute, 1))
	require.False(t, ends, "nothing pays for it")

	calm := made(30*time.Second, time.Hour+time.Minute, 1)
	_, ends = due(calm)
	require.False(t, ends)
	calm.tell(time.Now())
	_, ends = due(calm)
	require.False(t, ends, "an error for which there is no allowance is in the heartbeat only")
	calm.happened(time.Now())
	spacing, ends = due(calm)
	require.True(t, ends)
	require.Equal(t, 10*time.Second, spacing)
}

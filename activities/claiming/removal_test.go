package claiming

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/internal/wire"
)

// doors is an edge whose access has to be renewed now and then.
type doors struct {
	*place
	renewed int
	fails   error
}

func (d *doors) refreshAccess(context.Context) error { d.renewed++; return d.fails }

// What the answer to a delete means: what is gone is done with, and what somebody else
// has by now is left to them; a refusal for good is told.
func TestAnswersToADelete(t *testing.T) {
	for name, c := range map[string]struct {
		answers []error
		removed int
		errors  int64
		renewed int
	}{
		"deleted":                   {removed: 1},
		"deleted before":            {answers: []error{answer{404, "MessageNotFound"}}},
		"another's by now":          {answers: []error{answer{400, "PopReceiptMismatch"}}},
		"refused for good":          {answers: []error{answer{400, "InvalidInput"}}, errors: 1},
		"forbidden, then renewed":   {answers: []error{answer{403, ""}}, removed: 1, renewed: 1},
		"out of order for a moment": {answers: []error{answer{503, ""}}, removed: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			queue := newShelf("a")
			queue.fails = c.answers
			edge := &doors{place: &place{queue: queue}}
			b := testInbox(edge.place)
			b.edge = edge
			b.excused.set("a", 2)
			b.deleteSoon(t.Context(), b.hold(queue, taken("a", 1)))
			b.removals.Wait()
			require.Len(t, queue.removed, c.removed)
			require.Equal(t, c.renewed, edge.renewed)
			require.Empty(t, memoryOf(b).Carry.Owed, "it is done with")
			told := int64(0)
			for _, q := range memoryOf(b).Queues {
				told += q.Errors
			}
			require.Equal(t, c.errors, told)
			require.Equal(t, c.removed == 0 && c.answers[0] != answer{404, "MessageNotFound"}, len(memoryOf(b).Carry.Excused) == 1)
		})
	}
}

// Access that can't be renewed is told.
func TestAccessThatCannotBeRenewedIsTold(t *testing.T) {
	queue := newShelf("a")
	queue.fails = []error{answer{403, ""}}
	edge := &doors{place: &place{queue: queue}, fails: errors.New("the service is away")}
	b := testInbox(edge.place)
	b.edge = edge
	b.deleteSoon(t.Context(), b.hold(queue, taken("a", 1)))
	b.removals.Wait()
	require.Equal(t, "the service is away", memoryOf(b).Queues[0].LastError)
}

// What an extension is answered: a refusal ends the care, an outage does not.
func TestAnswersToAnExtension(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		again  bool // extended at the next look
		unsure bool
	}{
		"extended":   {nil, false, false},
		"no answer":  {errors.New("reset by peer"), true, true},
		"an outage":  {answer{503, ""}, true, false},
		"another's":  {answer{400, "PopReceiptMismatch"}, false, false},
		"gone":       {answer{404, "MessageNotFound"}, false, false},
		"no more of": {answer{410, ""}, false, false},
	} {
		queue := newShelf("a")
		if c.answer != nil {
			queue.fails = []error{c.answer}
		}
		b := testInbox(&place{queue: queue})
		due := taken("a", 1)
		due.Until = time.Now().Add(b.visibility / 4)
		h := b.hold(queue, due)
		b.extendHeld(t.Context())
		require.Equal(t, c.unsure, h.unsure, name)
		before := len(queue.delays)
		b.extendHeld(t.Context())
		require.Equal(t, c.again, len(queue.delays) > before, name)
		require.False(t, h.unsure, name)
	}
	signed := testInbox(&place{queue: newShelf("a")})
	due := taken("a", 1)
	due.Until = time.Now()
	h := signed.hold(signedShelf{newShelf("a")}, due)
	signed.extendHeld(t.Context())
	require.Equal(t, "1", h.Receipt, "a signed URL extends nothing")
}

// Messages are looked after often enough for the shortest visibility, and not more
// than ten times a second.
func TestMessagesAreLookedAfterInTime(t *testing.T) {
	b := testInbox(&place{queue: newShelf()})
	for visibility, want := range map[time.Duration]time.Duration{
		100 * time.Millisecond: 100 * time.Millisecond, 10 * time.Second: time.Second, time.Hour: 5 * time.Second,
	} {
		b.visibility = visibility
		require.Equal(t, want, b.extendEvery())
	}
}

// Deletes under way are waited for a moment, not for ever.
func TestDeletesUnderWayAreWaitedForAMoment(t *testing.T) {
	b := testInbox(&place{queue: newShelf()})
	hold := make(chan struct{})
	ended := b.aside(func() { <-hold })
	began := time.Now()
	b.settle(t.Context())
	require.GreaterOrEqual(t, time.Since(began), settleTime)
	require.False(t, over(ended))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	b.settle(cancelled)
	close(hold)
	b.settle(t.Context())
	<-ended
	require.True(t, over(ended))
	require.True(t, over(nil))
}

// meters keeps what gauges and counters say, by name and tag.
type meters struct {
	client.MetricsHandler
	mu     *sync.Mutex
	values map[string]float64
	tag    string
}

func newMeters() meters {
	return meters{MetricsHandler: client.MetricsNopHandler, mu: &sync.Mutex{}, values: map[string]float64{}}
}

func (m meters) WithTags(tags map[string]string) client.MetricsHandler {
	m.tag = tags["queue"] + tags["claimer"]
	return m
}

func (m meters) Gauge(name string) client.MetricsGauge {
	return gauge(func(v float64) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.values[name+" "+m.tag] = v
	})
}

type gauge func(float64)

func (g gauge) Update(v float64) { g(v) }

// A worker that polls no more takes its gauges back; while it polls they stand.
func TestAWorkerThatPollsNoMoreTakesItsGaugesBack(t *testing.T) {
	a := newAccount(t, "q")
	a.put("q", 0, taskTexts("a", 3)...)
	p := testPoller(t, &temporalServer{}, a, pollInput("q"))
	m := newMeters()
	p.meter = m
	p.watch(t.Context(), wire.ClaimControl{State: wire.ClaimOpen, Capacity: 7, Running: 2})
	p.inbox.removals.Wait()
	require.InDelta(t, 2, m.values["sluice_claim_running claim/q"], 0)
	require.InDelta(t, 7, m.values["sluice_claim_capacity claim/q"], 0)
	require.InDelta(t, 3, m.values["sluice_claim_visible q"], 0)
	require.InDelta(t, 3, m.values["sluice_claim_approximate q"], 0)
	require.Greater(t, m.values["sluice_claim_oldest_age_seconds q"], 30.0)
	p.clearGauges()
	require.Len(t, m.values, 5)
	for name, value := range m.values {
		require.Zero(t, value, name)
	}
	first, second := p.takeTurn(), p.takeTurn()
	first()
	second()
	require.Equal(t, 2, p.gauges.turn["claim/q"], "the first turn's end clears nothing: it is not the last")
}

// A claimer that is gone needs no telling, work that has ended no terminating; any other
// failure is repeated by Temporal.
func TestATaskTellsItsClaimerAndEndsItsWork(t *testing.T) {
	for name, c := range map[string]struct {
		answer error
		fails  bool
	}{
		"it is there": {nil, false}, "it is gone": {serviceerror.NewNotFound("gone"), false}, "no answer": {errors.New("no answer"), true},
	} {
		server := &temporalServer{signalFails: c.answer, terminateFails: c.answer}
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestActivityEnvironment()
		activities.Register(env, NewTasks(server, nil))
		in := wire.FinishedInput{Claimer: ourClaimer, Task: wire.FinishedTask{TaskID: "a", Outcome: wire.Outcome{State: wire.OutcomeCompleted}}}
		_, err := env.ExecuteActivity(wire.TaskFinished.Name, in)
		require.Equal(t, c.fails, err != nil, name)
		_, err = env.ExecuteActivity(wire.TaskTerminate.Name, wire.FollowInput{WorkflowID: "task/a/0/run"})
		require.Equal(t, c.fails, err != nil, name)
		require.Equal(t, []string{"claim/q " + wire.SignalFinished}, server.signalled, name)
		require.Equal(t, []string{"task/a/0/run"}, server.terminated, name)
	}
}

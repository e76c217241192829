package claiming

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/activities/taskservice"
	"sluice/internal/wire"
)

// poll runs the polling activity to its end.
func poll(t *testing.T, server *temporalServer, a *account, in wire.PollInput, before func(*testsuite.TestActivityEnvironment)) (wire.PollReport, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.SetTestTimeout(time.Minute)
	c := &Claimer{Temporal: server, Queues: a.client, Service: &taskservice.Client{HTTP: taskservice.NewHTTP()}}
	activities.Register(env, c)
	if before != nil {
		before(env)
	}
	value, err := env.ExecuteActivity(wire.ClaimPoll.Name, in)
	var report wire.PollReport
	if err == nil {
		require.NoError(t, value.Get(&report))
	}
	return report, err
}

// open is a claimer's workflow that allows to claim.
func open() *temporalServer {
	return &temporalServer{control: wire.ClaimControl{State: wire.ClaimOpen, Capacity: 5}}
}

// What is about to start is recorded first, and what was started is reported, soon.
func TestWhatIsStartedIsRecordedAndReported(t *testing.T) {
	a, server := newAccount(t, "q"), open()
	a.put("q", 0, taskTexts("a", 8)...)
	began := time.Now()
	report, err := poll(t, server, a, pollInput("q"), nil)
	require.NoError(t, err)
	require.Less(t, time.Since(began), 20*time.Second)
	require.Len(t, report.Started, 5, "no more than there are slots")
	require.Len(t, server.started, 5)
	require.Empty(t, server.unrecorded)
	require.Empty(t, report.Carry.Unsure)
	require.Empty(t, report.Carry.Owed)
	require.Len(t, a.texts("q"), 3)
	require.Equal(t, 1, server.asked, "its workflow, to which nothing came")
}

// A claimer with nothing left to do ends at once, having claimed nothing.
func TestADrainedClaimerEnds(t *testing.T) {
	a, server := newAccount(t, "q"), open()
	a.put("q", 0, taskTexts("a", 3)...)
	server.control.State = wire.ClaimDraining
	report, err := poll(t, server, a, pollInput("q"), nil)
	require.NoError(t, err)
	require.Empty(t, report.Started)
	require.Empty(t, a.polls)
}

// An attempt that Temporal has given up starts nothing more, and gives back what it has.
func TestAnAttemptThatWasGivenUpStartsNothing(t *testing.T) {
	a, server := newAccount(t, "q"), open()
	a.put("q", 0, taskTexts("a", 3)...)
	server.beatFails = serviceerror.NewNotFound("the activity has another attempt")
	_, err := poll(t, server, a, pollInput("q"), nil)
	require.ErrorContains(t, err, errFenced.Error())
	require.Empty(t, server.started)
	require.Len(t, a.texts("q"), 3)
	require.Len(t, server.beats, 1, "and heartbeats no more")
}

// One that is cancelled finishes what it is at, and ends with all that goes on.
func TestACancelledAttemptHandsOnWhatItHas(t *testing.T) {
	a, server := newAccount(t, "q"), open()
	a.put("q", 0, taskTexts("a", 3)...)
	server.beatFails = temporal.NewCanceledError()
	_, err := poll(t, server, a, pollInput("q"), nil)
	var canceled *temporal.CanceledError
	require.ErrorAs(t, err, &canceled)
	var m wire.PollMemory
	require.NoError(t, canceled.Details(&m))
	require.Len(t, m.Tasks, 3)
	require.Len(t, server.started, 3)
	for _, task := range m.Tasks {
		require.True(t, task.Sure)
	}
	require.Empty(t, a.texts("q"))
}

// A worker that stops leaves its state to the next one.
func TestAWorkerThatStopsLeavesItsState(t *testing.T) {
	a, server := newAccount(t, "q"), open()
	server.control.Capacity = 0
	stop := make(chan struct{})
	in := pollInput("q")
	in.Carry.Unsure = []wire.OpenTask{{StartedTask: wire.StartedTask{TaskID: "before"}, Since: time.Now()}}
	close(stop)
	_, err := poll(t, server, a, in, func(env *testsuite.TestActivityEnvironment) { env.SetWorkerStopChannel(stop) })
	require.Equal(t, activities.TypeWorkerStopping, activities.TypeOf(err))
	var application *temporal.ApplicationError
	require.ErrorAs(t, err, &application)
	require.NotZero(t, server.beaten(), "the attempt that follows has the state in any case")
	last := server.beats[len(server.beats)-1]
	require.Equal(t, "before", last.Tasks[0].TaskID)
}

// An attempt goes on from the heartbeat of the one before: what that had started counts,
// and what it owed is deleted.
func TestAnAttemptGoesOnFromTheOneBefore(t *testing.T) {
	a, server := newAccount(t, "q"), open()
	server.control.Capacity = 1
	a.put("q", 0, taskTexts("a", 2)...)
	first, err := (&Claimer{Queues: a.client}).queueOf("q").Receive(t.Context(), 1)
	require.NoError(t, err)
	before := wire.PollMemory{
		Tasks: []wire.OpenTask{{StartedTask: wire.StartedTask{TaskID: "a0", StartedAt: time.Now()}, Sure: true, Since: time.Now()}}, Poisoned: 2,
		Carry: wire.PollCarry{Owed: []wire.OwedDelete{
			{Queue: "q", MessageID: first[0].ID, Receipt: first[0].Receipt, Until: first[0].Until},
			{Queue: "not ours", MessageID: "x", Receipt: "y"},
		}},
	}
	report, err := poll(t, server, a, pollInput("q"), func(env *testsuite.TestActivityEnvironment) { env.SetHeartbeatDetails(before) })
	require.NoError(t, err)
	require.Empty(t, server.started, "the only slot is taken")
	require.Len(t, report.Started, 1)
	require.EqualValues(t, 2, report.Poisoned)
	require.Equal(t, taskTexts("a", 2)[1:], a.texts("q"))
	require.Empty(t, report.Carry.Owed)
}

// queueOf is a queue as the claimer polls it.
func (c *Claimer) queueOf(name string) source {
	return asSource(newAzure(c, pollInput(name)).queue(name))
}

// What heartbeats are answered decides how the attempt goes on.
func TestAnswersToAHeartbeat(t *testing.T) {
	for name, c := range map[string]struct {
		answer   error
		cause    error
		recalled bool
		fails    bool
	}{
		"taken":       {},
		"given up":    {answer: serviceerror.NewNotFound("gone"), cause: errFenced, fails: true},
		"cancelled":   {answer: temporal.NewCanceledError(), recalled: true},
		"paused":      {answer: activity.ErrActivityPaused, cause: activity.ErrActivityPaused, fails: true},
		"reset":       {answer: activity.ErrActivityReset, cause: activity.ErrActivityReset, fails: true},
		"no answer":   {answer: errors.New("no answer"), fails: true},
		"unavailable": {answer: serviceerror.NewUnavailable("down"), fails: true},
	} {
		server := &temporalServer{beatFails: c.answer}
		p := testPoller(t, server, nil, pollInput())
		var cause error
		recalled := false
		p.cancel, p.recall = func(err error) { cause = err }, func() { recalled = true }
		err := p.beat(t.Context())
		require.Equal(t, c.fails, err != nil, name)
		require.Equal(t, c.cause, cause, name)
		require.Equal(t, c.recalled, recalled, name)
	}
}

// A cancel of which the history tells is heard by a heartbeat at once; one that could
// not be sent is sent again.
func TestHeartbeatsAreSentAtOnceWhereSomethingIsToBeHeard(t *testing.T) {
	server := &temporalServer{beatFails: errors.New("no answer")}
	p := testPoller(t, server, nil, pollInput())
	p.prompt = make(chan struct{}, 1)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); p.keepBeating(ctx) }()
	require.Zero(t, server.beaten(), "what the activity began with is known")
	activities.Notify(p.prompt)
	require.Eventually(t, func() bool { return server.beaten() >= 2 }, 30*time.Second, 10*time.Millisecond)
	cancel()
	<-ended
}

// The workflow is asked once, and again where it did not answer.
func TestTheWorkflowIsAskedUntilItAnswers(t *testing.T) {
	server := open()
	p := testPoller(t, server, nil, pollInput())
	for range 5 {
		control, err := p.allowed(t.Context())
		require.NoError(t, err)
		require.Equal(t, server.control.Capacity, control.Capacity)
	}
	require.Equal(t, 1, server.asked)
	p.control.invalidate()
	server.control.Capacity = 9
	control, err := p.allowed(t.Context())
	require.NoError(t, err)
	require.Equal(t, 9, control.Capacity)

	p = testPoller(t, &temporalServer{}, nil, pollInput())
	p.Temporal = mute{}
	for range 2 {
		_, err = p.allowed(t.Context())
		require.ErrorContains(t, err, "no answer")
	}
	require.Equal(t, controlEvery, p.untilTold())
	p.books.enter(wire.StartedTask{TaskID: "a"}, time.Now())
	require.Equal(t, tellSoon, p.untilTold())
}

// The claimer's timing fits Temporal's: a start is over before the heartbeat that
// recorded it could be taken for lost.
func TestAStartIsOverBeforeItsAttemptIsGivenUp(t *testing.T) {
	require.Less(t, startTimeout+beatTimeout, 3*activities.WaitingHeartbeat)
	p := testPoller(t, &temporalServer{}, nil, pollInput())
	require.Equal(t, activities.WaitingHeartbeat, p.spacing())
	require.Equal(t, activities.CalmSpacing/2, p.calm().Spacing)
	report := p.reportOf(activities.CalmSpacing / 2)
	require.Equal(t, activities.CalmSpacing/2, report.Carry.Spacing.Std())
}

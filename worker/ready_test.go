package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/grpc"
)

// clock is a time that a test sets.
type clock struct{ time.Time }

func (c *clock) now() time.Time { return c.Time }

func (c *clock) forward(d time.Duration) { c.Time = c.Add(d) }

func ready(t *testing.T, h *health) (int, readiness) {
	t.Helper()
	w := httptest.NewRecorder()
	h.answerReady(w, httptest.NewRequest(http.MethodGet, "/readyz", nil))
	var answer readiness
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &answer))
	require.Equal(t, answer.Ready, w.Code == http.StatusOK)
	return w.Code, answer
}

// A worker said that it was ready while Temporal was gone, or refused its polls.
func TestReadyOnlyWhileTemporalAnswersAndPollsSucceed(t *testing.T) {
	at := &clock{time.Unix(1000, 0)}
	h := &health{polls: newPolls()}
	h.polls.now = at.now
	code, _ := ready(t, h)
	require.Equal(t, http.StatusServiceUnavailable, code, "not started")

	var unreachable error
	current := false
	watch := &reach{logger: zap.NewNop(), now: at.now,
		ask: func(context.Context) error { return unreachable }, version: func(context.Context) (bool, error) { return current, nil }}
	h.reach.Store(watch)
	h.running.Store(true)
	code, _ = ready(t, h)
	require.Equal(t, http.StatusServiceUnavailable, code, "nothing has polled yet")

	ended := h.polls.begin(polledQueue{"q", "activity"})
	code, answer := ready(t, h)
	require.Equal(t, http.StatusOK, code)
	require.NotNil(t, answer.Current)
	require.False(t, *answer.Current, "a version that is not current is ready")

	ended(errors.New("refused"))
	code, answer = ready(t, h)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, check{Name: "polls", TaskQueue: "q", Kind: "activity", Error: "since 1970-01-01T00:16:40Z: refused"}, answer.Checks[2])

	at.forward(time.Millisecond)
	h.polls.begin(polledQueue{"q", "activity"})
	code, _ = ready(t, h)
	require.Equal(t, http.StatusServiceUnavailable, code, "whether Temporal takes it is not known at once")
	at.forward(pollTaken)
	code, _ = ready(t, h)
	require.Equal(t, http.StatusOK, code, "it waits a minute for work")

	unreachable = errors.New("connection refused")
	code, answer = ready(t, h)
	require.Equal(t, http.StatusServiceUnavailable, code)
	require.Equal(t, check{Name: "temporal", Error: "connection refused"}, answer.Checks[1])
}

func TestPollsThatThisProcessEndsAreNoFailures(t *testing.T) {
	p := newPolls()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := &workflowservice.PollActivityTaskQueueRequest{TaskQueue: &taskqueuepb.TaskQueue{Name: "q"}}
	invoke := func(ctx context.Context, _ string, _, _ any, _ *grpc.ClientConn, _ ...grpc.CallOption) error {
		return ctx.Err()
	}
	require.ErrorIs(t, p.intercept(ctx, "", request, nil, nil, invoke), context.Canceled)
	require.Equal(t, []check{{Name: "polls", TaskQueue: "q", Kind: "activity", OK: true}}, p.check())
}

// Nothing in the log told that Temporal was gone, nor that it was back.
func TestTheLogTellsThatTemporalIsGoneAndIsBack(t *testing.T) {
	core, logged := observer.New(zapcore.InfoLevel)
	at := &clock{time.Unix(1000, 0)}
	err := errors.New("connection refused")
	r := &reach{logger: zap.New(core), address: "there:7233", now: at.now, ask: func(context.Context) error { return err }}
	for range 13 {
		r.check(t.Context())
		at.forward(reachEvery)
	}
	require.Equal(t, 1, logged.Len(), "once, after a minute")
	require.Equal(t, "Temporal unreachable for 1m", logged.All()[0].Message)
	require.Equal(t, "there:7233", logged.All()[0].ContextMap()["address"])
	err = nil
	r.check(t.Context())
	r.check(t.Context())
	require.Equal(t, 2, logged.Len())
	require.Equal(t, "Temporal reachable again", logged.All()[1].Message)
}

// A versioned worker that got no work did not say why.
func TestTheLogTellsThatAVersionIsNotCurrentAnyMore(t *testing.T) {
	core, logged := observer.New(zapcore.InfoLevel)
	current := true
	r := &reach{logger: zap.New(core), now: time.Now, command: "temporal worker deployment …",
		ask: func(context.Context) error { return nil }, version: func(context.Context) (bool, error) { return current, nil }}
	r.check(t.Context())
	require.Zero(t, logged.Len())
	current = false
	r.check(t.Context())
	require.Equal(t, "temporal worker deployment …", logged.All()[0].ContextMap()["makeCurrent"])
	current = true
	r.check(t.Context())
	require.Equal(t, 2, logged.Len())
}

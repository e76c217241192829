package claiming

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// A queue is touched only when those above it have nothing, and no more is taken than
// there are free slots.
func TestAQueueComesAfterThoseAboveIt(t *testing.T) {
	for _, c := range []struct {
		free  int
		high  int // left there
		low   int
		polls []string
	}{
		{free: 2, high: 1, low: 2, polls: []string{"high"}},
		{free: 3, high: 0, low: 2, polls: []string{"high"}},
		{free: 4, high: 0, low: 1, polls: []string{"high", "high", "low"}},
		{free: 9, high: 0, low: 0, polls: []string{"high", "high", "low", "low"}},
	} {
		a := newAccount(t, "high", "low")
		a.put("high", 0, taskTexts("h", 3)...)
		a.put("low", 0, taskTexts("l", 2)...)
		server := &temporalServer{}
		p := testPoller(t, server, a, pollInput("high", "low"))
		result := p.sweep(t.Context(), c.free)
		p.inbox.removals.Wait()
		require.Len(t, a.texts("high"), c.high, "%d free", c.free)
		require.Len(t, a.texts("low"), c.low, "%d free", c.free)
		require.Equal(t, c.polls, a.polls, "%d free", c.free)
		require.Len(t, server.started, min(c.free, 5))
		require.Equal(t, result.found, result.decided)
		require.Empty(t, server.unrecorded, "what is about to start is in a heartbeat before")
	}
}

// A queue that fails rests, and keeps the others not waiting.
func TestAQueueThatFailsDoesNotHoldUpTheOthers(t *testing.T) {
	a := newAccount(t, "high", "low")
	a.broken["high"] = http.StatusServiceUnavailable
	a.put("low", 0, taskTexts("l", 2)...)
	server := &temporalServer{}
	p := testPoller(t, server, a, pollInput("high", "low"))
	p.sweep(t.Context(), 5)
	require.ElementsMatch(t, []string{"task/l0/0", "task/l1/0"}, server.started)
	require.False(t, p.inbox.ready("high"))
	require.True(t, p.inbox.ready("low"))
	state := p.memory().Queues
	require.Equal(t, "high", state[0].Name)
	require.EqualValues(t, 1, state[0].Errors)
	require.Contains(t, state[0].LastError, "503")
}

// Whoever has no credentials of Azure is told which queue the workers with them poll.
func TestAPollerWithoutCredentialsSaysSo(t *testing.T) {
	p := testPoller(t, &temporalServer{}, nil, pollInput("high"))
	require.Zero(t, p.sweep(t.Context(), 5))
	p.inbox.mu.Lock()
	defer p.inbox.mu.Unlock()
	require.Contains(t, p.inbox.queues[signedURLsName].state.LastError, "sluice-azure")
	_, ok := p.azure.named("high")
	require.False(t, ok)
}

// One bad message hides none of its neighbours: it is copied aside with the reason and
// its count, to a queue that is made where it is missing, and deleted.
func TestABadMessageHidesNoneOfItsNeighbours(t *testing.T) {
	a := newAccount(t, "q")
	a.put("q", 0, `{"taskId":"a"}`, `no message`, `{"taskId":"b"}`)
	a.put("q", 14, `{"taskId":"often"}`)
	server := &temporalServer{}
	p := testPoller(t, server, a, pollInput("q"))
	result := p.sweep(t.Context(), 10)
	p.inbox.removals.Wait()
	require.ElementsMatch(t, []string{"task/a/0", "task/b/0"}, server.started)
	require.Equal(t, sweepResult{found: 4, decided: 4}, result)
	require.Empty(t, a.texts("q"))
	records := a.texts("q-poison")
	require.Len(t, records, 2)
	reasons := ""
	for _, text := range records {
		reasons += text
		plain, err := taskmessage.Unpoisoned(text)
		require.NoError(t, err)
		require.Contains(t, []string{"no message", `{"taskId":"often"}`}, plain, "it can be moved back")
	}
	require.Contains(t, reasons, "delivered 15 times; the limit is 15")
	require.EqualValues(t, 2, p.memory().Poisoned)

	named := newAccount(t, "q")
	named.put("q", 0, `no message`)
	in := pollInput("q")
	in.Spec.PoisonQueue = "aside"
	p = testPoller(t, server, named, in)
	p.sweep(t.Context(), 10)
	p.inbox.removals.Wait()
	require.Len(t, named.texts("aside"), 1)
}

// The double of a task in one poll is given back: the first decides.
func TestADoubleInOnePollIsGivenBack(t *testing.T) {
	a := newAccount(t, "q")
	a.put("q", 0, `{"taskId":"a"}`, `{"taskId":"a"}`, `{"taskId":"a","runId":1}`)
	server := &temporalServer{}
	p := testPoller(t, server, a, pollInput("q"))
	result := p.sweep(t.Context(), 10)
	p.inbox.removals.Wait()
	require.ElementsMatch(t, []string{"task/a/0", "task/a/1"}, server.started)
	require.Equal(t, []string{`{"taskId":"a"}`}, a.texts("q"), "as it was, nothing excused")
	require.Equal(t, 2, result.decided)
	require.Zero(t, p.memory().Excused)
}

// claims is a task service that answers claims by the status that a task's ID names.
type claims struct {
	mu    sync.Mutex
	asked []string
}

func (c *claims) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, r.URL.Path)
	status := 0
	if _, err := fmt.Sscanf(r.URL.Path, "/task/s%d", &status); err != nil || !strings.HasSuffix(r.URL.Path, "/claim") {
		return
	}
	w.WriteHeader(status)
	_, _ = fmt.Fprint(w, `{"runId":7,"takenUntil":"2100-01-01T00:00:00Z","task":{"payload":{"from":"service"}}}`)
}

// With a task service its answer decides about each message: 2xx starts the run that it
// names, a definite refusal deletes, anything else keeps the message, excused.
func TestTheAnswerToAClaimDecidesAboutTheMessage(t *testing.T) {
	for status, want := range map[int]struct{ started, kept int }{
		200: {started: 1}, 404: {}, 409: {}, 401: {kept: 1}, 403: {kept: 1}, 408: {kept: 1}, 429: {kept: 1}, 500: {kept: 1}, 503: {kept: 1},
	} {
		service := &claims{}
		at := httptest.NewServer(service)
		a := newAccount(t, "q")
		a.put("q", 0, fmt.Sprintf(`{"taskId":"s%d"}`, status))
		server := &temporalServer{control: wire.ClaimControl{State: wire.ClaimOpen, Capacity: 5}}
		in := pollInput("q")
		in.Spec.Claim = wire.ClaimSpec{Service: at.URL, WorkerGroup: "g", WorkerID: "w"}
		p := testPoller(t, server, a, in)
		result := p.sweep(t.Context(), 5)
		p.inbox.removals.Wait()
		at.Close()
		require.Equal(t, fmt.Sprintf("/task/s%d/runs/0/claim", status), service.asked[0])
		require.Len(t, server.started, want.started, status)
		require.Len(t, a.texts("q"), want.kept, status)
		require.Equal(t, want.kept, result.undecided, status)
		require.EqualValues(t, want.kept, p.memory().Excused, status)
		if want.started > 0 {
			require.Equal(t, fmt.Sprintf("task/s%d/7", status), server.started[0])
		}
		if want.kept > 0 {
			m, err := taskmessage.Decode(a.texts("q")[0])
			require.NoError(t, err)
			require.EqualValues(t, 1, m.Excused, status)
		}
	}
}

// While nobody decides no more is taken than one poll.
func TestNoMoreIsTakenWhileNobodyDecides(t *testing.T) {
	at := httptest.NewServer(&claims{})
	defer at.Close()
	a := newAccount(t, "q", "lower")
	for i := range 40 {
		a.put("q", 0, fmt.Sprintf(`{"taskId":"s503","runId":%d}`, i))
	}
	a.put("lower", 0, `{"taskId":"s200"}`)
	server := &temporalServer{}
	in := pollInput("q", "lower")
	in.Spec.Claim = wire.ClaimSpec{Service: at.URL, WorkerGroup: "g", WorkerID: "w"}
	p := testPoller(t, server, a, in)
	result := p.sweep(t.Context(), 100)
	require.Equal(t, sweepResult{found: 32, undecided: 32}, result)
	require.Equal(t, []string{"q"}, a.polls)
}

package taskservice

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// asked is a request as the service saw it.
type asked struct{ method, path, body, contentType string }

// serving is a service that answers all alike, and what it was asked.
func serving(t *testing.T, status int, body string) (*Client, *[]asked, string) {
	t.Helper()
	var requests []asked
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			raw = []byte(err.Error())
		}
		requests = append(requests, asked{r.Method, r.URL.EscapedPath(), string(raw), r.Header.Get("Content-Type")})
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(server.Close)
	return &Client{HTTP: NewHTTP()}, &requests, server.URL
}

func TestAClaimIsAskedForByGroupAndWorker(t *testing.T) {
	until := time.Now().Add(time.Hour).UTC().Truncate(time.Second)
	c, requests, url := serving(t, 200, fmt.Sprintf(`{"runId":7,"takenUntil":%q,"task":{"payload":{"n":1}}}`, until.Format(time.RFC3339)))
	claim := c.Claim(t.Context(), wire.ClaimSpec{Service: url + "/api/", WorkerGroup: "g", WorkerID: "w"}, "a/b", 3)
	require.Equal(t, []asked{{http.MethodPost, "/api/task/a%2Fb/runs/3/claim", `{"workerGroup":"g","workerId":"w"}`, "application/json"}}, *requests)
	require.Equal(t, taskclaim.Start, claim.Fate)
	require.EqualValues(t, 7, claim.RunID, "the service says which run it gave")
	require.JSONEq(t, `{"n":1}`, string(claim.Payload))
	require.WithinDuration(t, until, claim.Lease.TakenUntil, 30*time.Second)
	require.False(t, claim.Lease.TakenUntil.After(until), "never later than the service has it")
}

func TestTheRunAskedForIsClaimedWhereTheAnswerNamesNone(t *testing.T) {
	c, _, url := serving(t, 200, `{"takenUntil":"2030-01-01T00:00:00Z"}`)
	claim := c.Claim(t.Context(), wire.ClaimSpec{Service: url}, "t", 3)
	require.Equal(t, taskclaim.Start, claim.Fate)
	require.EqualValues(t, 3, claim.RunID)
	require.Empty(t, claim.Payload)
}

// An answer of success that cannot be read decides nothing: the task is kept, and
// neither started nor lost.
func TestAnAnswerThatCannotBeReadIsAnOutage(t *testing.T) {
	for _, body := range []string{"", "<html>", `{}`, `{"takenUntil":"soon"}`, `{"takenUntil":null}`, `{"runId":"x","takenUntil":"2030-01-01T00:00:00Z"}`} {
		c, _, url := serving(t, 200, body)
		claim := c.Claim(t.Context(), wire.ClaimSpec{Service: url}, "t", 0)
		require.Equal(t, taskclaim.Keep, claim.Fate, body)
		require.Equal(t, taskclaim.NoAnswer, claim.Answer.Status, body)
		require.Equal(t, "the answer to the claim cannot be read", claim.Answer.String())
	}
}

func TestARefusedClaimIsJudgedByItsStatus(t *testing.T) {
	for status, want := range map[int]taskclaim.Fate{
		401: taskclaim.Keep, 403: taskclaim.Keep, 404: taskclaim.Drop, 409: taskclaim.Drop, 429: taskclaim.Keep, 500: taskclaim.Keep, 302: taskclaim.Keep,
	} {
		c, _, url := serving(t, status, `{"takenUntil":"2030-01-01T00:00:00Z"}`)
		claim := c.Claim(t.Context(), wire.ClaimSpec{Service: url}, "t", 5)
		require.Equal(t, want, claim.Fate, "%d", status)
		require.Equal(t, fmt.Sprintf("HTTP %d", status), claim.Answer.String())
		require.EqualValues(t, 5, claim.RunID)
		require.True(t, claim.Lease.TakenUntil.IsZero())
	}
}

func TestOnlyAnExceptionIsReportedWithAReason(t *testing.T) {
	c, requests, url := serving(t, 200, "")
	for _, o := range []wire.Outcome{
		{State: wire.OutcomeCompleted}, {State: wire.OutcomeFailed},
		{State: wire.OutcomeException, Reason: wire.ReasonWorkerShutdown},
	} {
		require.Equal(t, 200, c.Resolve(t.Context(), url, "t", 1, o).Status)
	}
	require.Equal(t, []asked{
		{http.MethodPost, "/task/t/runs/1/completed", "", ""},
		{http.MethodPost, "/task/t/runs/1/failed", "", ""},
		{http.MethodPost, "/task/t/runs/1/exception", `{"reason":"worker-shutdown"}`, "application/json"},
	}, *requests)
}

func TestSignedURLsAreFetchedForAProvisionersWorkerType(t *testing.T) {
	c, requests, url := serving(t, 200, `{"queues":[{"signedPollUrl":"p1","signedDeleteUrl":"d1"},{"signedPollUrl":"p2","signedDeleteUrl":"d2"}],"expires":"2030-01-01T00:00:00Z"}`)
	urls, answer, err := c.PollURLs(t.Context(), wire.SignedURLs{Service: url + "/", ProvisionerID: "p/x", WorkerType: "w y"})
	require.NoError(t, err)
	require.Equal(t, 200, answer.Status)
	require.Equal(t, []asked{{http.MethodGet, "/poll-task-url/p%2Fx/w%20y", "", ""}}, *requests)
	require.Len(t, urls.Queues, 2)
	require.Equal(t, "p1", urls.Queues[0].SignedPollURL)
	require.Equal(t, "d2", urls.Queues[1].SignedDeleteURL)
	require.Equal(t, 2030, urls.Expires.Year())

	for status, body := range map[int]string{500: "sig=abc", 204: "", 200: "sig=abc"} {
		c, _, url := serving(t, status, body)
		_, _, err := c.PollURLs(t.Context(), wire.SignedURLs{Service: url + "?sig=abc", ProvisionerID: "p", WorkerType: "w"})
		require.ErrorContains(t, err, "fetch signed URLs: ", "%d", status)
		require.NotContains(t, err.Error(), "abc")
	}
}

func TestHalfAnAnswerIsNone(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "100")
		_, _ = io.WriteString(w, `{"takenUntil"`)
	}))
	t.Cleanup(server.Close)
	answer := (&Client{HTTP: NewHTTP()}).Call(t.Context(), http.MethodGet, server.URL+"/x?sig=abc", nil)
	require.Equal(t, taskclaim.NoAnswer, answer.Status)
	require.NotContains(t, answer.String(), "abc")
}

func TestAURLThatCannotBeParsedIsNotQuoted(t *testing.T) {
	answer := (&Client{HTTP: NewHTTP()}).Call(t.Context(), http.MethodGet, "http://h:port/?sig=abc", nil)
	require.Equal(t, taskclaim.NoAnswer, answer.Status)
	require.Equal(t, "the URL cannot be parsed", answer.String())
}

func TestAnOriginIsSchemeHostAndPort(t *testing.T) {
	for _, c := range []struct {
		url, origin string
		same        bool
	}{
		{"https://h/x", "https://h", true},
		{"https://h:443/x", "https://h", true},
		{"HTTPS://H/x", "https://h:443", true},
		{"http://h:80/", "http://h/", true},
		{"http://h/x", "https://h", false},
		{"https://h:444/x", "https://h", false},
		{"https://h.evil/x", "https://h", false},
		{"https://evil/https://h", "https://h", false},
		{"https://h@evil/x", "https://h", false},
		{"https://h/x", "", false},
		{"https://h/x", "h", false},
	} {
		request, err := http.NewRequest(http.MethodGet, c.url, nil)
		require.NoError(t, err)
		require.Equal(t, c.same, sameOrigin(request.URL, c.origin), "%s %s", c.url, c.origin)
	}
}

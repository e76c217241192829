package azurequeue

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/activities/taskservice"
	"sluice/internal/duration"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// signer hands out signed URLs of two queues that are good for a time, and is the
// queues as well.
type signer struct {
	mu      sync.Mutex
	url     string
	lasts   time.Duration
	down    bool
	fetches int
	calls   []string // of the queues: "<method> <URI>"
	status  int      // of the queues' answers
	code    string   // in the header
	body    string
}

func (s *signer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path != "/poll-task-url/p/w" {
		s.calls = append(s.calls, r.Method+" "+r.URL.RequestURI())
		if s.code != "" {
			w.Header().Set("x-ms-error-code", s.code)
		}
		w.Header().Set("x-ms-request-id", "r-1")
		w.WriteHeader(s.status)
		_, _ = io.WriteString(w, s.body)
		return
	}
	if s.fetches++; s.down {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	var queues []map[string]string
	for _, name := range []string{"high", "low"} {
		messages := fmt.Sprintf("%s/acct/%s/messages", s.url, name)
		queues = append(queues, map[string]string{
			"signedPollUrl":   fmt.Sprintf("%s?sig=s%d", messages, s.fetches),
			"signedDeleteUrl": fmt.Sprintf("%s/{{messageId}}?popreceipt={{popReceipt}}&sig=s%d", messages, s.fetches),
		})
	}
	raw, err := json.Marshal(map[string]any{"queues": queues, "expires": time.Now().Add(s.lasts)})
	if err == nil {
		_, _ = w.Write(raw)
	}
}

func newSigned(t *testing.T, lasts, before time.Duration) (*signer, *SignedSource) {
	t.Helper()
	s := &signer{lasts: lasts, status: http.StatusOK, body: "<QueueMessagesList/>"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	s.url = server.URL
	return s, &SignedSource{
		Service: &taskservice.Client{HTTP: taskservice.NewHTTP()},
		Spec:    wire.SignedURLs{Service: server.URL, ProvisionerID: "p", WorkerType: "w", RefreshBefore: duration.Duration(before)},
	}
}

func listedAt(t *testing.T, source *SignedSource, now time.Time) []string {
	t.Helper()
	queues, err := source.List(t.Context(), now)
	require.NoError(t, err)
	var names []string
	for _, q := range queues {
		names = append(names, q.Name())
	}
	return names
}

func TestSignedQueuesKeepTheServicesOrderOfPriority(t *testing.T) {
	_, source := newSigned(t, time.Hour, 5*time.Minute)
	require.Empty(t, source.Names())
	require.Equal(t, []string{"high", "low"}, listedAt(t, source, time.Now()))
	require.Equal(t, []string{"high", "low"}, source.Names())
}

func TestSignedURLsAreRenewedAheadOfTheirEndAndNotBeforeHalfOfTheirTime(t *testing.T) {
	for name, c := range map[string]struct {
		lasts, before time.Duration
		kept, renewed time.Duration // after the fetch
	}{
		"long":  {time.Hour, 5 * time.Minute, 54 * time.Minute, 56 * time.Minute},
		"short": {4 * time.Minute, 5 * time.Minute, 110 * time.Second, 130 * time.Second},
	} {
		s, source := newSigned(t, c.lasts, c.before)
		began := time.Now()
		listedAt(t, source, began)
		listedAt(t, source, began.Add(c.kept))
		require.Equal(t, 1, s.fetches, name)
		listedAt(t, source, began.Add(c.renewed))
		require.Equal(t, 2, s.fetches, name)
	}
}

// An outage of the service stops nobody whose URLs are good still, and it is asked
// with rests that grow.
func TestOldURLsAreUsedWhileTheServiceIsAway(t *testing.T) {
	s, source := newSigned(t, time.Hour, 10*time.Minute)
	began := time.Now()
	listedAt(t, source, began)
	s.down = true
	late := began.Add(55 * time.Minute)
	queues, err := source.List(t.Context(), late)
	require.ErrorContains(t, err, "HTTP 503")
	require.Len(t, queues, 2)
	queues, err = source.List(t.Context(), late.Add(500*time.Millisecond))
	require.NoError(t, err, "not asked again so soon")
	require.Len(t, queues, 2)
	require.Equal(t, 2, s.fetches)
	_, err = source.List(t.Context(), late.Add(1500*time.Millisecond))
	require.Error(t, err)
	require.Equal(t, 3, s.fetches)

	queues, err = source.List(t.Context(), began.Add(2*time.Hour))
	require.ErrorContains(t, err, "HTTP 503")
	require.Empty(t, queues, "dead URLs are not used")
	queues, err = source.List(t.Context(), began.Add(2*time.Hour+time.Second))
	require.ErrorContains(t, err, "have run out")
	require.Empty(t, queues)

	s.down, s.lasts = false, 4*time.Hour
	require.Len(t, listedAt(t, source, began.Add(3*time.Hour)), 2)
}

func queueOf(t *testing.T, source *SignedSource) Source {
	t.Helper()
	queues, err := source.List(t.Context(), time.Now())
	require.NoError(t, err)
	return queues[0]
}

func TestMessagesOfASignedQueueAreReadWhateverOneOfThemHolds(t *testing.T) {
	s, source := newSigned(t, time.Hour, time.Minute)
	s.body = "\ufeff<?xml version=\"1.0\"?><QueueMessagesList>" +
		"<QueueMessage><MessageId>a</MessageId><InsertionTime>Fri, 02 Jan 2026 03:04:05 GMT</InsertionTime><PopReceipt>r+/=</PopReceipt><DequeueCount>3</DequeueCount><MessageText>e30=</MessageText></QueueMessage>" +
		"<QueueMessage><MessageId>b</MessageId><InsertionTime>some day</InsertionTime><DequeueCount>many</DequeueCount><MessageText/></QueueMessage>" +
		"</QueueMessagesList>"
	got, err := queueOf(t, source).Receive(t.Context(), 100)
	require.NoError(t, err)
	require.Equal(t, []Message{
		{ID: "a", Receipt: "r+/=", Text: "e30=", DequeueCount: 3, InsertedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)},
		{ID: "b"},
	}, got)
	require.Equal(t, []string{"GET /acct/high/messages?sig=s1&numofmessages=32"}, s.calls)

	s.body = "sig=secret, a proxy's page"
	_, err = queueOf(t, source).Receive(t.Context(), 1)
	require.EqualError(t, err, "the answer to the poll is not a list of messages")
}

// A message is deleted by the URL in force, which may be younger than the poll's.
func TestAMessageIsDeletedByTheURLInForce(t *testing.T) {
	s, source := newSigned(t, time.Hour, time.Minute)
	polled := queueOf(t, source)
	listedAt(t, source, time.Now().Add(59*time.Minute+30*time.Second))
	require.Equal(t, 2, s.fetches)
	s.status = http.StatusNoContent
	require.NoError(t, polled.Remove(t.Context(), "m-1", "a+b="))
	require.Equal(t, []string{"DELETE /acct/high/messages/m-1?popreceipt=a%2Bb%3D&sig=s2"}, s.calls)
}

func TestAFailureOfASignedQueueTellsStatusAndCodeButNoURL(t *testing.T) {
	s, source := newSigned(t, time.Hour, time.Minute)
	queue := queueOf(t, source)
	for _, c := range []struct {
		status           int
		header, body     string
		wantCode, wanted string
	}{
		{404, "QueueNotFound", "", "QueueNotFound", "AzureQueue.Receive: HTTP 404 QueueNotFound"},
		{400, "", "<?xml version=\"1.0\"?><Error><Code>OutOfRangeInput</Code><Message>sig=abc</Message></Error>", "OutOfRangeInput", "AzureQueue.Receive: HTTP 400 OutOfRangeInput"},
		{503, "", "not XML", "", "AzureQueue.Receive: HTTP 503"},
		{302, "", "", "", "AzureQueue.Receive: HTTP 302"},
	} {
		s.status, s.code, s.body = c.status, c.header, c.body
		_, err := queue.Receive(t.Context(), 1)
		require.EqualError(t, err, c.wanted)
		status, code := Status(err)
		require.Equal(t, c.status, status)
		require.Equal(t, c.wantCode, code)
	}
	nobody := httptest.NewServer(http.NotFoundHandler())
	nobody.Close()
	lost := &SignedQueue{Source: source, HTTP: taskservice.NewHTTP(), Queue: "x", poll: nobody.URL + "/a/x/messages?sig=s3cret"}
	_, err := lost.Receive(t.Context(), 1)
	status, _ := Status(err)
	require.Equal(t, taskclaim.NoAnswer, status)
	require.NotContains(t, err.Error(), "s3cret")
}

// A refused URL is renewed at the next use, but URLs that are refused as soon as they
// come are waited out.
func TestRefusedURLsAreFetchedAgainWithRests(t *testing.T) {
	for _, refused := range []int{http.StatusForbidden, http.StatusUnauthorized} {
		s, source := newSigned(t, time.Hour, time.Minute)
		queue := queueOf(t, source)
		s.status = refused
		_, err := queue.Receive(t.Context(), 1)
		require.Error(t, err)
		queues, err := source.List(t.Context(), time.Now())
		require.ErrorContains(t, err, "cannot be fetched again yet", "these came just now")
		require.Empty(t, queues)
		require.Equal(t, 1, s.fetches)
		listedAt(t, source, time.Now().Add(signedRest))
		require.Equal(t, 2, s.fetches)

		source.refused(time.Now().Add(3 * signedRest))
		listedAt(t, source, time.Now().Add(3*signedRest))
		require.Equal(t, 3, s.fetches, "the first refusal after a while: at once")
	}
	s, source := newSigned(t, time.Hour, time.Minute)
	queue := queueOf(t, source)
	s.status = http.StatusServiceUnavailable
	_, err := queue.Receive(t.Context(), 1)
	require.Error(t, err)
	listedAt(t, source, time.Now().Add(signedRest))
	require.Equal(t, 1, s.fetches, "an outage says nothing of the URLs")
}

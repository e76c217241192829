package azurequeue

import (
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/internal/taskmessage"
	"sluice/internal/wire"
)

// taker is a queue service that takes messages, or answers with a status.
type taker struct {
	mu     sync.Mutex
	uris   []string
	bodies []string
	status int
	code   string
}

func (q *taker) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	q.mu.Lock()
	defer q.mu.Unlock()
	raw, err := io.ReadAll(r.Body)
	var message struct{ MessageText string }
	if err != nil || xml.Unmarshal(raw, &message) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	q.uris, q.bodies = append(q.uris, r.URL.RequestURI()), append(q.bodies, message.MessageText)
	w.Header().Set("x-ms-error-code", q.code)
	w.WriteHeader(q.status)
	if q.status == http.StatusCreated {
		_, _ = io.WriteString(w, "<QueueMessagesList><QueueMessage><MessageId>m-1</MessageId></QueueMessage></QueueMessagesList>")
	}
}

func sendTo(t *testing.T, q *taker, document string) (out SendOutput, err error) {
	t.Helper()
	server := httptest.NewServer(q)
	t.Cleanup(server.Close)
	service, err := azqueue.NewServiceClientWithNoCredential(server.URL, nil)
	require.NoError(t, err)
	return sendBy(service, document)
}

func sendBy(service *azqueue.ServiceClient, document string) (out SendOutput, err error) {
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	env.RegisterActivityWithOptions((&Activities{Service: service}).Send, activity.RegisterOptions{Name: wire.AzureQueueSend})
	value, err := env.ExecuteActivity(wire.AzureQueueSend, json.RawMessage(document))
	if err == nil {
		err = value.Get(&out)
	}
	return out, err
}

// A message is in base64, never runs out, and is hidden for the delay, rounded up.
func TestAMessageIsSentAsAzuresClientsReadIt(t *testing.T) {
	for document, want := range map[string]struct{ body, hidden string }{
		`{"queue":"tasks","body":"plain"}`:                   {"plain", "visibilitytimeout=0"},
		`{"queue":"tasks","body":{"n":1},"delay":"1500ms"}`:  {`{"n":1}`, "visibilitytimeout=2"},
		`{"queue":"tasks","body":"\"quoted\"","delay":"1h"}`: {`"quoted"`, "visibilitytimeout=3600"},
	} {
		q := &taker{status: http.StatusCreated}
		out, err := sendTo(t, q, document)
		require.NoError(t, err, document)
		require.Equal(t, "m-1", out.MessageID)
		require.Len(t, q.bodies, 1)
		raw, err := base64.StdEncoding.DecodeString(q.bodies[0])
		require.NoError(t, err)
		require.Equal(t, want.body, string(raw))
		require.Contains(t, q.uris[0], "/tasks/messages?")
		require.Contains(t, q.uris[0], want.hidden)
		require.Contains(t, q.uris[0], "messagettl=-1")
	}
}

func TestNothingGoesOnAQueueOfAWrongDocument(t *testing.T) {
	big := strings.Repeat("x", taskmessage.MaxText/4*3+1)
	for document, want := range map[string]string{
		`{"body":"x"}`:                                   activities.TypeInvalidInput,
		`{"queue":"Tasks","body":"x"}`:                   activities.TypeInvalidInput,
		`{"queue":"tasks"}`:                              activities.TypeInvalidInput,
		`{"queue":"tasks","body":"x","delay":"169h"}`:    activities.TypeInvalidInput,
		`{"queue":"tasks","body":"x","visibility":"1s"}`: activities.TypeInvalidInput,
		`{"queue":"tasks","body":"` + big + `"}`:         activities.TypeTooLarge,
	} {
		q := &taker{status: http.StatusCreated}
		_, err := sendTo(t, q, document)
		require.Equal(t, want, activities.TypeOf(err), document[:min(len(document), 60)])
		require.Empty(t, q.bodies)
	}
	_, err := sendTo(t, &taker{status: http.StatusCreated}, `{"queue":"tasks","body":"`+big[1:]+`"}`)
	require.NoError(t, err, "what just fits is sent")
}

// A send is tried once: who owns the job owns its repeats.
func TestASendThatFailsIsTriedOnceAndTypedByItsAnswer(t *testing.T) {
	for _, c := range []struct {
		status int
		code   string
		want   string
	}{
		{404, "QueueNotFound", activities.TypeNotFound},
		{403, "AuthenticationFailed", activities.TypeAccessDenied},
		{503, "ServerBusy", activities.TypeThrottled},
		{500, "InternalError", activities.TypeUnavailable},
		{409, "QueueBeingDeleted", activities.TypeUnavailable},
	} {
		q := &taker{status: c.status, code: c.code}
		_, err := sendTo(t, q, `{"queue":"tasks","body":"x"}`)
		require.Equal(t, c.want, activities.TypeOf(err), c.code)
		details, ok := activities.DetailsOf(err)
		require.True(t, ok)
		require.Equal(t, c.code, details.Code)
		require.Len(t, q.bodies, 1, c.code)
	}
}

func TestAWorkerWithoutAccessSaysWhereToSend(t *testing.T) {
	_, err := sendBy(nil, `{"queue":"tasks","body":"x"}`)
	require.Equal(t, activities.TypeAccessDenied, activities.TypeOf(err))
	require.ErrorContains(t, err, "-azure")
	require.ErrorContains(t, err, "AZURE_STORAGE_CONNECTION_STRING")
}

func TestVisibilitiesAreWholeSecondsRoundedUp(t *testing.T) {
	for d, want := range map[time.Duration]int32{
		0: 0, time.Nanosecond: 1, time.Second: 1, time.Second + 1: 2, 7 * 24 * time.Hour: 604800, 1000 * time.Hour: 604800,
	} {
		require.Equal(t, want, seconds(d), d)
	}
}

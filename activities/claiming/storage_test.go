package claiming

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/stretchr/testify/require"
)

// letter is a message on a queue of an account.
type letter struct {
	XMLName       xml.Name `xml:"QueueMessage"`
	MessageID     string   `xml:"MessageId"`
	PopReceipt    string
	MessageText   string
	InsertionTime string
	DequeueCount  int64

	receipts int
	hidden   bool
}

// account is a storage account by the rules that count here: what is received is
// hidden, each change gives a new receipt, and a queue that is not there is said so.
type account struct {
	mu     sync.Mutex
	queues map[string][]*letter
	polls  []string       // names of the queues, in order
	broken map[string]int // status of every answer of a queue
	client *azqueue.ServiceClient
}

func newAccount(t *testing.T, queues ...string) *account {
	t.Helper()
	a := &account{queues: map[string][]*letter{}, broken: map[string]int{}}
	for _, name := range queues {
		a.queues[name] = nil
	}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	var err error
	a.client, err = azqueue.NewServiceClientWithNoCredential(server.URL, nil)
	require.NoError(t, err)
	return a
}

// put lays texts on a queue, which were delivered so often before.
func (a *account) put(queue string, deliveries int64, texts ...string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, text := range texts {
		a.add(queue, text).DequeueCount = deliveries
	}
}

func (a *account) add(queue, text string) *letter {
	l := &letter{
		MessageID: fmt.Sprintf("%s-%d", queue, len(a.queues[queue])), MessageText: text,
		InsertionTime: time.Now().Add(-time.Minute).UTC().Format(http.TimeFormat),
	}
	a.queues[queue] = append(a.queues[queue], l)
	return l
}

// texts are those on a queue, hidden or not.
func (a *account) texts(queue string) (texts []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.queues[queue] {
		texts = append(texts, l.MessageText)
	}
	return texts
}

func (a *account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.mu.Lock()
	defer a.mu.Unlock()
	queue, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	_, id, _ := strings.Cut(rest, "/")
	body, _ := io.ReadAll(r.Body)
	var given struct{ MessageText string }
	_ = xml.Unmarshal(body, &given) // some have none
	_, there := a.queues[queue]
	switch {
	case a.broken[queue] != 0:
		w.WriteHeader(a.broken[queue])
	case rest == "" && r.Method == http.MethodPut && there:
		w.WriteHeader(http.StatusNoContent)
	case rest == "" && r.Method == http.MethodPut:
		a.queues[queue] = nil
		w.WriteHeader(http.StatusCreated)
	case !there:
		refuse(w, http.StatusNotFound, "QueueNotFound")
	case rest == "":
		w.Header().Set("x-ms-approximate-messages-count", strconv.Itoa(len(a.queues[queue])))
	case id != "":
		a.change(w, r, queue, id, given.MessageText)
	case r.Method == http.MethodPost:
		list(w, http.StatusCreated, []*letter{a.add(queue, given.MessageText)})
	default:
		a.poll(w, r, queue)
	}
}

// poll answers with what is visible; a peek leaves it so.
func (a *account) poll(w http.ResponseWriter, r *http.Request, queue string) {
	n, _ := strconv.Atoi(r.URL.Query().Get("numofmessages"))
	peeks := r.URL.Query().Get("peekonly") != ""
	var found []*letter
	for _, l := range a.queues[queue] {
		if !l.hidden && len(found) < n {
			found = append(found, l)
			if !peeks {
				l.hidden = true
				l.DequeueCount++
				l.next()
			}
		}
	}
	if !peeks {
		a.polls = append(a.polls, queue)
	}
	list(w, http.StatusOK, found)
}

func (l *letter) next() { l.receipts++; l.PopReceipt = fmt.Sprintf("%s/%d", l.MessageID, l.receipts) }

// change rewrites or deletes a message by its newest receipt.
func (a *account) change(w http.ResponseWriter, r *http.Request, queue, id, text string) {
	at := slices.IndexFunc(a.queues[queue], func(l *letter) bool { return l.MessageID == id })
	switch {
	case at < 0:
		refuse(w, http.StatusNotFound, "MessageNotFound")
		return
	case a.queues[queue][at].PopReceipt != r.URL.Query().Get("popreceipt"):
		refuse(w, http.StatusBadRequest, "PopReceiptMismatch")
		return
	case r.Method == http.MethodDelete:
		a.queues[queue] = slices.Delete(a.queues[queue], at, at+1)
	default:
		l := a.queues[queue][at]
		l.MessageText = text
		l.next()
		w.Header().Set("x-ms-popreceipt", l.PopReceipt)
	}
	w.WriteHeader(http.StatusNoContent)
}

func list(w http.ResponseWriter, status int, letters []*letter) {
	w.WriteHeader(status)
	_ = xml.NewEncoder(w).Encode(struct {
		XMLName xml.Name `xml:"QueueMessagesList"`
		Letters []*letter
	}{Letters: letters})
}

func refuse(w http.ResponseWriter, status int, code string) {
	w.Header().Set("x-ms-error-code", code)
	w.WriteHeader(status)
}

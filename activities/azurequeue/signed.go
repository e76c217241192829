package azurequeue

import (
	"context"
	"encoding/xml"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"sluice/activities/taskservice"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// SignedSource holds the signed URLs of a worker type's queues. They live in its
// memory only: no state, report, log line or error has them.
type SignedSource struct {
	Service *taskservice.Client
	Spec    wire.SignedURLs

	mu      sync.Mutex
	queues  []*SignedQueue
	fetched time.Time
	expires time.Time // by this machine's clock
	failed  int       // fetches in a row
	again   time.Time // no fetch before
}

// signedRest is the least time between two fetches: fresh URLs that are refused
// (a clock ahead of ours) are waited out, not fetched again and again.
const signedRest = 5 * time.Second

// List returns the queues in order of priority, with URLs that are not known to
// be dead. It renews them ahead of their end; while that fails and the old ones
// are still good, those are used.
func (s *SignedSource) List(ctx context.Context, now time.Time) ([]Source, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	if s.wanted(now) {
		err = s.fetch(ctx, now)
	}
	if !now.Before(s.expires) {
		if err == nil {
			err = errors.New("the signed URLs have run out and cannot be fetched again yet")
		}
		return nil, err
	}
	queues := make([]Source, len(s.queues))
	for i, q := range s.queues {
		queues[i] = q
	}
	return queues, err
}

// wanted tells whether to fetch: refreshBefore ahead of the end, but not before
// half of the URLs' time is over, so that short ones are not fetched for every
// poll.
func (s *SignedSource) wanted(now time.Time) bool {
	if now.Before(s.again) {
		return false
	}
	half := s.fetched.Add(s.expires.Sub(s.fetched) / 2)
	early := s.expires.Add(-s.Spec.RefreshBefore.Std())
	if early.Before(half) {
		early = half
	}
	return len(s.queues) == 0 || !now.Before(early)
}

func (s *SignedSource) fetch(ctx context.Context, now time.Time) error {
	urls, answer, err := s.Service.PollURLs(ctx, s.Spec)
	if err != nil {
		s.failed++
		s.again = now.Add(min(time.Duration(s.failed)*time.Second, 10*time.Second))
		return err
	}
	s.failed = 0
	s.fetched = now
	s.again = now.Add(signedRest)
	s.expires = taskclaim.Local(urls.Expires, answer.Date, answer.Sent, answer.Received).TakenUntil
	s.queues = s.queues[:0:0]
	for _, q := range urls.Queues {
		s.queues = append(s.queues, &SignedQueue{
			Source: s, HTTP: s.Service.HTTP, Queue: taskclaim.QueueName(q.SignedPollURL),
			poll: q.SignedPollURL, delete: q.SignedDeleteURL,
		})
	}
	return nil
}

// refused is told of a 401 or 403: the URLs are fetched again at the next use,
// at once after the first and with rests after repeated ones.
func (s *SignedSource) refused(now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now.Sub(s.fetched) > signedRest {
		s.again = now
	}
	s.expires = now // wanted, as soon as again allows
}

// Names lists the queues' names in order of priority.
func (s *SignedSource) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	names := make([]string, len(s.queues))
	for i, q := range s.queues {
		names[i] = q.Queue
	}
	return names
}

// named finds the queue with the URLs that are in force now.
func (s *SignedSource) named(name string) (*SignedQueue, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, q := range s.queues {
		if q.Queue == name {
			return q, true
		}
	}
	return nil, false
}

// SignedQueue is a queue reached by signed URLs, which allow to poll and to
// delete and nothing else.
type SignedQueue struct {
	Source       *SignedSource
	HTTP         *http.Client
	Queue        string
	poll, delete string
}

// Name is the queue's.
func (q *SignedQueue) Name() string { return q.Queue }

// Receive takes up to n messages.
func (q *SignedQueue) Receive(ctx context.Context, n int) ([]Message, error) {
	target, err := taskclaim.PollURL(q.poll, n)
	if err != nil {
		return nil, err
	}
	body, err := q.call(ctx, opReceive, http.MethodGet, target)
	if err != nil {
		return nil, err
	}
	return parseMessages(body)
}

// Remove deletes a message by the receipt in force.
func (q *SignedQueue) Remove(ctx context.Context, id, receipt string) error {
	if current, ok := q.Source.named(q.Queue); ok {
		q = current
	}
	target, err := taskclaim.DeleteURL(q.delete, id, receipt)
	if err != nil {
		return err
	}
	_, err = q.call(ctx, opDelete, http.MethodDelete, target)
	return err
}

func (q *SignedQueue) call(ctx context.Context, operation, method, target string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, method, target, nil)
	if err != nil {
		return nil, errors.New("the signed URL cannot be parsed")
	}
	response, err := q.HTTP.Do(request)
	if err != nil {
		return nil, &callFailure{operation: operation, message: taskservice.NetworkFault(err)}
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, taskservice.MaxAnswer))
	if err != nil {
		return nil, &callFailure{operation: operation, message: taskservice.NetworkFault(err)}
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		if response.StatusCode == http.StatusForbidden || response.StatusCode == http.StatusUnauthorized {
			q.Source.refused(time.Now())
		}
		return nil, &callFailure{operation: operation, status: response.StatusCode, code: errorCode(response, body),
			requestID: response.Header.Get("x-ms-request-id")}
	}
	return body, nil
}

// errorCode finds Azure's error code in the header or the body's <Code>.
func errorCode(response *http.Response, body []byte) string {
	if code := response.Header.Get("x-ms-error-code"); code != "" {
		return code
	}
	var parsed struct {
		Code string `xml:"Code"`
	}
	if xml.Unmarshal(body, &parsed) != nil {
		return ""
	}
	return parsed.Code
}

// parseMessages reads a QueueMessagesList. Every field comes as text, so that a
// strange value in one message does not hide the others.
func parseMessages(body []byte) ([]Message, error) {
	var list struct {
		XMLName  xml.Name `xml:"QueueMessagesList"`
		Messages []struct {
			MessageID     string `xml:"MessageId"`
			PopReceipt    string `xml:"PopReceipt"`
			DequeueCount  string `xml:"DequeueCount"`
			InsertionTime string `xml:"InsertionTime"`
			MessageText   string `xml:"MessageText"`
		} `xml:"QueueMessage"`
	}
	if err := xml.Unmarshal(body, &list); err != nil {
		return nil, errors.New("the answer to the poll is not a list of messages")
	}
	deliveries := make([]Message, 0, len(list.Messages))
	for _, m := range list.Messages {
		d := Message{ID: m.MessageID, Receipt: m.PopReceipt, Text: m.MessageText}
		d.DequeueCount, _ = strconv.ParseInt(m.DequeueCount, 10, 64)
		d.InsertedAt, _ = http.ParseTime(m.InsertionTime)
		deliveries = append(deliveries, d)
	}
	return deliveries, nil
}

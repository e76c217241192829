package taskservice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"sluice/activities"
	"sluice/internal/taskclaim"
	"sluice/internal/wire"
)

// Client speaks to the service that decides who may run a task. Its token
// goes to one origin only, redirects are not followed, and no error of it quotes
// a URL with a query.
type Client struct {
	HTTP   *http.Client // NewHTTP's
	Origin string       // the only origin that gets the token
	Token  string       // bearer token; "" sends none
}

// NewHTTP is an HTTP client for services that a document names: bounded
// in time, and a redirect is an answer like any other, so that neither token nor
// signature travels to where it was not meant to go.
func NewHTTP() *http.Client {
	return &http.Client{
		Timeout:       30 * time.Second,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second}).DialContext,
			ForceAttemptHTTP2:     true,
			MaxIdleConnsPerHost:   64,
			IdleConnTimeout:       90 * time.Second,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: 30 * time.Second,
		},
	}
}

// MaxAnswer bounds what is read of an answer; a task has to fit into a payload.
const MaxAnswer = 4 << 20

// Answer is an answer with what is needed to tell the service's clock.
type Answer struct {
	Status         int // 0: none
	Body           []byte
	Date           time.Time // of the Date header; zero without one
	Sent, Received time.Time
	fault          string // why there is no answer
}

// fault or status, in words.
func (a Answer) String() string {
	if a.Status == taskclaim.NoAnswer {
		return a.fault
	}
	return fmt.Sprintf("HTTP %d", a.Status)
}

// Call makes one request; the token goes along to its own origin only.
func (s *Client) Call(ctx context.Context, method, target string, body any) Answer {
	answer := Answer{Sent: time.Now()}
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			answer.fault = err.Error()
			return answer
		}
		reader = bytes.NewReader(raw)
	}
	request, err := http.NewRequestWithContext(ctx, method, target, reader)
	if err != nil {
		answer.fault = "the URL cannot be parsed"
		return answer
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.Token != "" && sameOrigin(request.URL, s.Origin) {
		request.Header.Set("Authorization", "Bearer "+s.Token)
	}
	response, err := s.HTTP.Do(request)
	answer.Received = time.Now()
	if err != nil {
		answer.fault = NetworkFault(err)
		return answer
	}
	defer response.Body.Close()
	answer.Body, err = io.ReadAll(io.LimitReader(response.Body, MaxAnswer+1))
	if err != nil {
		answer.fault = NetworkFault(err) // half an answer is none
		return answer
	}
	answer.Status = response.StatusCode
	answer.Date, _ = http.ParseTime(response.Header.Get("Date"))
	return answer
}

// NetworkFault is an error of net/http without its URL.
func NetworkFault(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		if wrapped.Timeout() {
			return "no answer in time"
		}
		err = wrapped.Err
	}
	return activities.Redact(err.Error())
}

// sameOrigin compares scheme, host and port.
func sameOrigin(u *url.URL, origin string) bool {
	o, err := url.Parse(origin)
	return err == nil && o.Host != "" && strings.EqualFold(u.Scheme, o.Scheme) &&
		strings.EqualFold(u.Hostname(), o.Hostname()) && portOf(u) == portOf(o)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case strings.EqualFold(u.Scheme, "https"):
		return "443"
	default:
		return "80"
	}
}

// RunURL is the URL of an operation on a run of a task.
func RunURL(service, taskID string, runID int64, operation string) string {
	return fmt.Sprintf("%s/task/%s/runs/%d/%s", strings.TrimRight(service, "/"), url.PathEscape(taskID), runID, operation)
}

// Claim is what a claim came to.
type Claim struct {
	Fate    taskclaim.Fate
	Answer  Answer
	RunID   int64
	Lease   taskclaim.Lease
	Payload json.RawMessage
}

// Claim asks for a run of a task. An answer of 2xx that cannot be read counts as
// an outage: nobody knows what was decided.
func (s *Client) Claim(ctx context.Context, spec wire.ClaimSpec, taskID string, runID int64) Claim {
	answer := s.Call(ctx, http.MethodPost, RunURL(spec.Service, taskID, runID, "claim"),
		map[string]string{"workerGroup": spec.WorkerGroup, "workerId": spec.WorkerID})
	claimed := Claim{Fate: taskclaim.FateOf(answer.Status), Answer: answer, RunID: runID}
	if claimed.Fate != taskclaim.Start {
		return claimed
	}
	var body struct {
		RunID      *int64    `json:"runId"`
		TakenUntil time.Time `json:"takenUntil"`
		Task       struct {
			Payload json.RawMessage `json:"payload"`
		} `json:"task"`
	}
	if err := json.Unmarshal(answer.Body, &body); err != nil || body.TakenUntil.IsZero() {
		claimed.Fate = taskclaim.Keep
		claimed.Answer.Status = taskclaim.NoAnswer
		claimed.Answer.fault = "the answer to the claim cannot be read"
		return claimed
	}
	if body.RunID != nil {
		claimed.RunID = *body.RunID
	}
	claimed.Payload = body.Task.Payload
	claimed.Lease = taskclaim.Local(body.TakenUntil, answer.Date, answer.Sent, answer.Received)
	return claimed
}

// Resolve reports the outcome of a run: completed, failed or exception.
func (s *Client) Resolve(ctx context.Context, service, taskID string, runID int64, o wire.Outcome) Answer {
	var body any
	if o.State == wire.OutcomeException {
		body = map[string]string{"reason": o.Reason}
	}
	return s.Call(ctx, http.MethodPost, RunURL(service, taskID, runID, o.State), body)
}

// pollURLs is the service's answer about the queues to poll.
type pollURLs struct {
	Queues []struct {
		SignedPollURL   string `json:"signedPollUrl"`
		SignedDeleteURL string `json:"signedDeleteUrl"`
	} `json:"queues"`
	Expires time.Time `json:"expires"`
}

// PollURLs fetches the signed URLs of a worker type's queues.
func (s *Client) PollURLs(ctx context.Context, spec wire.SignedURLs) (pollURLs, Answer, error) {
	answer := s.Call(ctx, http.MethodGet, fmt.Sprintf("%s/poll-task-url/%s/%s", strings.TrimRight(spec.Service, "/"),
		url.PathEscape(spec.ProvisionerID), url.PathEscape(spec.WorkerType)), nil)
	var urls pollURLs
	switch {
	case answer.Status < 200 || answer.Status > 299:
		return urls, answer, fmt.Errorf("fetch signed URLs: %s", answer)
	case json.Unmarshal(answer.Body, &urls) != nil:
		return urls, answer, errors.New("fetch signed URLs: the answer cannot be read")
	default:
		return urls, answer, nil
	}
}

package activities

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

	"sluice/internal/taskclaim"
)

// TaskService speaks to the service that decides who may run a task. Its token
// goes to one origin only, redirects are not followed, and no error of it quotes
// a URL with a query.
type TaskService struct {
	HTTP   *http.Client // NewServiceHTTP's
	Origin string       // the only origin that gets the token
	Token  string       // bearer token; "" sends none
}

// NewServiceHTTP is an HTTP client for services that a document names: bounded
// in time, and a redirect is an answer like any other, so that neither token nor
// signature travels to where it was not meant to go.
func NewServiceHTTP() *http.Client {
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

// maxTaskAnswer bounds what is read of an answer; a task has to fit into a payload.
const maxTaskAnswer = 4 << 20

// serviceAnswer is an answer with what is needed to tell the service's clock.
type serviceAnswer struct {
	status         int // 0: none
	body           []byte
	date           time.Time // of the Date header; zero without one
	sent, received time.Time
	fault          string // why there is no answer
}

// fault or status, in words.
func (a serviceAnswer) String() string {
	if a.status == taskclaim.NoAnswer {
		return a.fault
	}
	return fmt.Sprintf("HTTP %d", a.status)
}

func (s *TaskService) call(ctx context.Context, method, target string, body any) serviceAnswer {
	answer := serviceAnswer{sent: time.Now()}
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
	answer.received = time.Now()
	if err != nil {
		answer.fault = networkFault(err)
		return answer
	}
	defer response.Body.Close()
	answer.body, err = io.ReadAll(io.LimitReader(response.Body, maxTaskAnswer+1))
	if err != nil {
		answer.fault = networkFault(err) // half an answer is none
		return answer
	}
	answer.status = response.StatusCode
	answer.date, _ = http.ParseTime(response.Header.Get("Date"))
	return answer
}

// networkFault is an error of net/http without its URL.
func networkFault(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		if wrapped.Timeout() {
			return "no answer in time"
		}
		err = wrapped.Err
	}
	return Redact(err.Error())
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

// runURL is the URL of an operation on a run of a task.
func runURL(service, taskID string, runID int64, operation string) string {
	return fmt.Sprintf("%s/task/%s/runs/%d/%s", strings.TrimRight(service, "/"), url.PathEscape(taskID), runID, operation)
}

// claimAnswer is what a claim came to.
type claimAnswer struct {
	fate    taskclaim.Fate
	answer  serviceAnswer
	runID   int64
	lease   taskclaim.Lease
	payload json.RawMessage
}

// claim asks for a run of a task. An answer of 2xx that cannot be read counts as
// an outage: nobody knows what was decided.
func (s *TaskService) claim(ctx context.Context, spec ClaimSpec, taskID string, runID int64) claimAnswer {
	answer := s.call(ctx, http.MethodPost, runURL(spec.Service, taskID, runID, "claim"),
		map[string]string{"workerGroup": spec.WorkerGroup, "workerId": spec.WorkerID})
	claimed := claimAnswer{fate: taskclaim.FateOf(answer.status), answer: answer, runID: runID}
	if claimed.fate != taskclaim.Start {
		return claimed
	}
	var body struct {
		RunID      *int64    `json:"runId"`
		TakenUntil time.Time `json:"takenUntil"`
		Task       struct {
			Payload json.RawMessage `json:"payload"`
		} `json:"task"`
	}
	if err := json.Unmarshal(answer.body, &body); err != nil || body.TakenUntil.IsZero() {
		claimed.fate = taskclaim.Keep
		claimed.answer.status = taskclaim.NoAnswer
		claimed.answer.fault = "the answer to the claim cannot be read"
		return claimed
	}
	if body.RunID != nil {
		claimed.runID = *body.RunID
	}
	claimed.payload = body.Task.Payload
	claimed.lease = taskclaim.Local(body.TakenUntil, answer.date, answer.sent, answer.received)
	return claimed
}

// resolve reports the outcome of a run: completed, failed or exception.
func (s *TaskService) resolve(ctx context.Context, service, taskID string, runID int64, o Outcome) serviceAnswer {
	var body any
	if o.State == OutcomeException {
		body = map[string]string{"reason": o.Reason}
	}
	return s.call(ctx, http.MethodPost, runURL(service, taskID, runID, o.State), body)
}

// pollURLs is the service's answer about the queues to poll.
type pollURLs struct {
	Queues []struct {
		SignedPollURL   string `json:"signedPollUrl"`
		SignedDeleteURL string `json:"signedDeleteUrl"`
	} `json:"queues"`
	Expires time.Time `json:"expires"`
}

// pollURLs fetches the signed URLs of a worker type's queues.
func (s *TaskService) pollURLs(ctx context.Context, spec SignedURLs) (pollURLs, serviceAnswer, error) {
	answer := s.call(ctx, http.MethodGet, fmt.Sprintf("%s/poll-task-url/%s/%s", strings.TrimRight(spec.Service, "/"),
		url.PathEscape(spec.ProvisionerID), url.PathEscape(spec.WorkerType)), nil)
	var urls pollURLs
	switch {
	case answer.status < 200 || answer.status > 299:
		return urls, answer, fmt.Errorf("fetch signed URLs: %s", answer)
	case json.Unmarshal(answer.body, &urls) != nil:
		return urls, answer, errors.New("fetch signed URLs: the answer cannot be read")
	default:
		return urls, answer, nil
	}
}

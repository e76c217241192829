package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"sluice/activities"
	"sluice/internal/document"
	"sluice/internal/errortype"
	"sluice/internal/secret"
	"sluice/internal/wire"
)

const (
	timeout        = 30 * time.Second
	mostRedirects  = 5
	mostAnswer     = 1 << 20 // bytes of a body that are handed on
	longestDelay   = 10 * time.Minute
	idempotencyKey = "Idempotency-Key"
)

// Activities calls origins that the worker's configuration allows, and no others. Where
// a document names credentials it names them only: their values are the worker's.
type Activities struct {
	allowed     map[string]bool // by origin
	credentials map[string]credential
	client      *http.Client
}

// New allows the origins (https://host[:port]) and knows credentials, which
// are Authorization headers by lower-case name, each behind the origins to which alone
// it may go ("https://a.example Bearer …"); without any it may go to all.
func New(origins []string, credentials map[string]string) *Activities {
	h := &Activities{allowed: map[string]bool{}, credentials: map[string]credential{}}
	for name, text := range credentials {
		h.credentials[name] = parseCredential(text)
	}
	for _, o := range origins {
		if u, err := url.Parse(o); err == nil {
			h.allowed[originOf(u)] = true
		}
	}
	h.client = &http.Client{Timeout: timeout, CheckRedirect: h.checkRedirect}
	return h
}

// All lists the activities under their names.
func (h *Activities) All() []activities.Named {
	return []activities.Named{{Name: wire.HTTPCall, Code: h.Call}, activities.Do(wire.HTTPTrigger, h.Trigger)}
}

// CallInput is the input of HTTP.Call. A body that is a JSON string is sent as its
// text, any other as JSON.
type CallInput struct {
	URL    string          `json:"url" doc:"required"`
	Method string          `json:"method"`
	Body   json.RawMessage `json:"body"`
	Auth   string          `json:"auth"`
}

// CallOutput is what HTTP.Call answers.
type CallOutput struct {
	Status int    `json:"status"`
	Body   string `json:"body"`
}

// Check reports what is wrong with the values.
func (in *CallInput) Check(faults *document.Faults) {
	if err := wire.CheckAuth(in.Auth); err != nil {
		faults.Add("auth", "%v", err)
	}
}

// Call makes one request and hands on the answer, whatever its status, but for
// those that ask to come again: 408, 5xx (Unavailable) and 429 (Throttled). A
// repeat makes the request again, under the same Idempotency-Key.
func (h *Activities) Call(ctx context.Context, raw json.RawMessage) (CallOutput, error) {
	in := CallInput{Method: http.MethodPost}
	faults := document.Decode(raw, &in)
	in.Check(&faults)
	if err := faults.Err(); err != nil {
		return CallOutput{}, activities.Invalid(wire.HTTPCall, err)
	}
	body, contentType := activities.Body(in.Body)
	return h.do(ctx, request{
		operation: wire.HTTPCall, url: in.URL, method: in.Method, auth: in.Auth,
		body: body, contentType: contentType, key: activities.IdempotencyKey(ctx),
	}, again)
}

// Trigger tells an outside service of an end, for `then` entries: it succeeds when
// the service has accepted it. A 4xx other than 408, 425 and 429 is not repeated,
// nor is an origin that is not allowed; everything else is.
func (h *Activities) Trigger(ctx context.Context, in wire.TriggerInput) error {
	_, err := h.do(ctx, request{
		operation: wire.HTTPTrigger.Name, url: in.URL, method: in.Method, auth: in.Auth,
		body: in.Body, contentType: "application/json", key: in.IdempotencyKey,
	}, acceptedOnly)
	return err
}

type request struct {
	operation, url, method, auth string
	body                         []byte
	contentType                  string
	key                          string
}

// verdict makes an error of a status, "" for none.
type verdict func(status int) (errType string)

// again is the verdict of HTTP.Call: an answer is an error where the same call may
// be answered otherwise later.
func again(status int) string {
	if errType := activities.StatusType(status); errortype.Retryable(errType) && status != http.StatusTooEarly {
		return errType
	}
	return ""
}

// acceptedOnly is the verdict of HTTP.Trigger. A redirect that was not followed is
// as final as a refusal: the same call is answered with it again.
func acceptedOnly(status int) string {
	if status >= 200 && status < 300 {
		return ""
	}
	return activities.StatusType(status)
}

func (h *Activities) do(ctx context.Context, r request, judge verdict) (CallOutput, error) {
	req, err := h.request(ctx, r)
	if err != nil {
		return CallOutput{}, err
	}
	fail := func(errType, message string, delay time.Duration) error {
		return activities.Fail(errType, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: r.operation, Target: originOf(req.URL)},
			Message:      message, Delay: delay,
		})
	}
	alive, stop := activities.KeepAlive(ctx, activities.WorkingHeartbeat, nil)
	defer stop()
	answer, err := h.client.Do(req.WithContext(alive))
	if err != nil {
		return CallOutput{}, activities.OrInterrupted(alive, r.operation, fail(activities.TypeUnavailable, cause(err), 0))
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer+1))
	if errType := judge(answer.StatusCode); errType != "" {
		return CallOutput{}, fail(errType, answered(answer, body), retryAfter(answer.Header))
	}
	switch {
	case err != nil:
		return CallOutput{}, activities.OrInterrupted(alive, r.operation, fail(activities.TypeUnavailable, cause(err), 0))
	case len(body) > mostAnswer:
		return CallOutput{}, fail(activities.TypeTooLarge, fmt.Sprintf("the answer is over %d bytes", mostAnswer), 0)
	}
	return CallOutput{Status: answer.StatusCode, Body: secret.Conceal(strings.ToValidUTF8(string(body), "\uFFFD"))}, nil
}

// request builds a request to an allowed origin.
func (h *Activities) request(ctx context.Context, r request) (*http.Request, error) {
	refuse := func(errType, target, message string) error {
		return activities.Fail(errType, activities.Failure{ErrorDetails: activities.ErrorDetails{Operation: r.operation, Target: target}, Message: message})
	}
	u, err := url.Parse(r.url)
	if err != nil || u.Host == "" {
		return nil, refuse(activities.TypeInvalidInput, "", "url: not an http or https URL")
	}
	origin := originOf(u)
	switch {
	case u.User != nil:
		return nil, refuse(activities.TypeInvalidInput, origin, `url: holds user info; name credentials with "auth"`)
	case !h.allowed[origin]:
		return nil, refuse(activities.TypeAccessDenied, origin, "the worker's SLUICE_HTTP_ALLOW does not list this origin")
	}
	req, err := http.NewRequestWithContext(ctx, r.method, r.url, bytes.NewReader(r.body))
	if err != nil {
		return nil, refuse(activities.TypeInvalidInput, origin, "method: "+err.Error())
	}
	if len(r.body) > 0 {
		req.Header.Set("Content-Type", r.contentType)
	}
	if r.key != "" {
		req.Header.Set(idempotencyKey, headerText(r.key))
	}
	if r.auth != "" {
		credential, ok := h.credentials[strings.ToLower(r.auth)]
		if !ok {
			return nil, refuse(activities.TypeAccessDenied, origin, fmt.Sprintf("auth: the worker has no SLUICE_HTTP_AUTH_%s", strings.ToUpper(r.auth)))
		}
		if !credential.goesTo(origin) {
			return nil, refuse(activities.TypeAccessDenied, origin, fmt.Sprintf("auth: the worker's SLUICE_HTTP_AUTH_%s is for other origins", strings.ToUpper(r.auth)))
		}
		req.Header.Set("Authorization", credential.header)
	}
	return req, nil
}

// checkRedirect follows a redirect within its origin only: one elsewhere could
// carry body and credentials to where nobody allowed them.
func (h *Activities) checkRedirect(next *http.Request, via []*http.Request) error {
	if len(via) > mostRedirects || originOf(next.URL) != originOf(via[0].URL) {
		return http.ErrUseLastResponse
	}
	return nil
}

// originOf is scheme, host and port, the default port written out.
func originOf(u *url.URL) string {
	port := u.Port()
	switch scheme := strings.ToLower(u.Scheme); {
	case port != "":
	case scheme == "https":
		port = "443"
	case scheme == "http":
		port = "80"
	}
	return strings.ToLower(u.Scheme) + "://" + strings.ToLower(u.Hostname()) + ":" + port
}

// headerText keeps what a header may hold.
func headerText(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '_'
		}
		return r
	}, text)
}

// retryAfter is the delay that an answer asks for, in seconds or as a date.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return min(time.Duration(seconds)*time.Second, longestDelay)
	}
	if at, err := http.ParseTime(text); err == nil {
		return min(max(time.Until(at), 0), longestDelay)
	}
	return 0
}

// cause is the innermost error, without the URL that net/http puts before it.
func cause(err error) string {
	var of *url.Error
	if errors.As(err, &of) {
		return of.Err.Error()
	}
	return err.Error()
}

// answered is what an error says of an answer.
func answered(answer *http.Response, body []byte) string {
	if answer.StatusCode/100 != 3 {
		return fmt.Sprintf("answered %d %s", answer.StatusCode, excerpt(body))
	}
	where := "none"
	if to, err := answer.Location(); err == nil {
		where = originOf(to)
	}
	return fmt.Sprintf("answered %d, a redirect that is not followed (to %s): give the URL that it leads to", answer.StatusCode, where)
}

// excerpt is the beginning of an answer, for an error message. Secrets are taken out
// before it is cut, since half a secret is not known for one.
func excerpt(body []byte) string {
	const looked, longest = 16 << 10, 200
	text := activities.Redact(strings.ToValidUTF8(string(body[:min(len(body), looked)]), ""))
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "") + "…"
	}
	return text
}

package http

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/internal/errortype"
	"sluice/internal/wire"
)

// httpCall runs HTTP.Call or HTTP.Trigger as a worker would.
func httpCall(t *testing.T, h *Activities, name string, in any) (out CallOutput, err error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	env := suite.NewTestActivityEnvironment()
	activities.Register(env, h)
	var value interface{ Get(any) error }
	if name == wire.HTTPCall {
		value, err = env.ExecuteActivity(h.Call, in)
	} else {
		value, err = env.ExecuteActivity(h.Trigger, in)
	}
	if err == nil && name == wire.HTTPCall {
		require.NoError(t, value.Get(&out))
	}
	return out, err
}

type heardRequest struct {
	method, path, auth, key, contentType, body string
}

// serve answers with what answer makes and tells what it saw.
func serve(t *testing.T, answer http.HandlerFunc) (*httptest.Server, *[]heardRequest) {
	t.Helper()
	var all []heardRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		all = append(all, heardRequest{r.Method, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("Idempotency-Key"), r.Header.Get("Content-Type"), string(body)})
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server, &all
}

func TestHTTPCall(t *testing.T) {
	server, all := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
	})
	h := New([]string{server.URL}, map[string]string{"deploy": "Bearer sesame"})
	out, err := httpCall(t, h, wire.HTTPCall, json.RawMessage(`{"url":"`+server.URL+`/pot","body":{"n":1},"auth":"Deploy"}`))
	require.NoError(t, err)
	require.Equal(t, CallOutput{Status: 418, Body: "short and stout"}, out, "other statuses are answers")
	require.Equal(t, "POST", (*all)[0].method)
	require.Equal(t, `{"n":1}`, (*all)[0].body)
	require.Equal(t, "application/json", (*all)[0].contentType)
	require.Equal(t, "Bearer sesame", (*all)[0].auth)
	require.NotEmpty(t, (*all)[0].key)

	_, err = httpCall(t, h, wire.HTTPCall, json.RawMessage(`{"url":"`+server.URL+`","method":"PUT","body":"plain"}`))
	require.NoError(t, err)
	require.Equal(t, "plain", (*all)[1].body)
	require.Empty(t, (*all)[1].auth)
}

func TestHTTPRefusals(t *testing.T) {
	server, all := serve(t, func(http.ResponseWriter, *http.Request) {})
	host := strings.TrimPrefix(server.URL, "http://")
	h := New([]string{server.URL}, nil)
	for in, want := range map[string][2]string{
		`{}`:                                     {activities.TypeInvalidInput, "url: required"},
		`{"url":"` + server.URL + `","speed":1}`: {activities.TypeInvalidInput, "speed: unknown field"},
		`{"url":"nowhere"}`:                      {activities.TypeInvalidInput, "not an http or https URL"},
		`{"url":"http://u:secretpw@` + host + `/"}`:       {activities.TypeInvalidInput, "user info"},
		`{"url":"http://example.invalid/"}`:               {activities.TypeAccessDenied, "SLUICE_HTTP_ALLOW"},
		`{"url":"https://` + host + `/"}`:                 {activities.TypeAccessDenied, "SLUICE_HTTP_ALLOW"},
		`{"url":"` + server.URL + `","auth":"other"}`:     {activities.TypeAccessDenied, "SLUICE_HTTP_AUTH_OTHER"},
		`{"url":"` + server.URL + `","method":"NO WAY"}`:  {activities.TypeInvalidInput, "method"},
		`{"url":"http://` + host + `.example.invalid/x"}`: {activities.TypeInvalidInput, ""},
	} {
		_, err := httpCall(t, h, wire.HTTPCall, json.RawMessage(in))
		if want[1] == "" {
			require.Error(t, err, in)
			continue
		}
		require.Equal(t, want[0], activities.TypeOf(err), in)
		require.ErrorContains(t, err, want[1], in)
		require.NotContains(t, err.Error(), "secretpw")
	}
	require.Empty(t, *all, "nothing was sent")
}

func TestHTTPStatuses(t *testing.T) {
	status := 0
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
	})
	h := New([]string{server.URL}, nil)
	for _, c := range []struct {
		status        int
		call, trigger string
	}{
		{200, "", ""}, {204, "", ""}, {400, "", activities.TypeInvalidInput}, {401, "", activities.TypeAccessDenied}, {404, "", activities.TypeNotFound},
		{409, "", activities.TypeConflict}, {422, "", activities.TypeInvalidInput}, {408, activities.TypeUnavailable, activities.TypeUnavailable}, {425, "", activities.TypeUnavailable},
		{429, activities.TypeThrottled, activities.TypeThrottled}, {500, activities.TypeUnavailable, activities.TypeUnavailable}, {503, activities.TypeUnavailable, activities.TypeUnavailable},
	} {
		status = c.status
		_, err := httpCall(t, h, wire.HTTPCall, json.RawMessage(`{"url":"`+server.URL+`"}`))
		require.Equalf(t, c.call, activities.TypeOf(err), "call %d", c.status)
		_, err = httpCall(t, h, wire.HTTPTrigger.Name, wire.TriggerInput{URL: server.URL, Method: "POST", IdempotencyKey: "w/1/0", Body: json.RawMessage(`{}`)})
		require.Equalf(t, c.trigger, activities.TypeOf(err), "trigger %d", c.status)
		if errortype.Retryable(c.trigger) {
			var application *temporal.ApplicationError
			require.ErrorAs(t, err, &application)
			require.Equal(t, 7*time.Second, application.NextRetryDelay())
			require.False(t, application.NonRetryable())
		}
	}
}

// A redirect is followed within its origin; one elsewhere is an answer of its own,
// and takes neither body nor credentials along.
func TestHTTPRedirects(t *testing.T) {
	elsewhere, stolen := serve(t, func(http.ResponseWriter, *http.Request) {})
	var server *httptest.Server
	server, all := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.Redirect(w, r, "/there", http.StatusTemporaryRedirect)
		case "/away":
			http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		case "/round":
			http.Redirect(w, r, "/round", http.StatusTemporaryRedirect)
		}
	})
	h := New([]string{server.URL, elsewhere.URL}, map[string]string{"deploy": "Bearer sesame"})
	trigger := func(path string) error {
		_, err := httpCall(t, h, wire.HTTPTrigger.Name, wire.TriggerInput{URL: server.URL + path, Method: "POST", Auth: "deploy", Body: json.RawMessage(`{}`), IdempotencyKey: "w/1/0"})
		return err
	}
	require.NoError(t, trigger("/here"))
	require.Equal(t, heardRequest{"POST", "/there", "Bearer sesame", "w/1/0", "application/json", "{}"}, (*all)[1])
	require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(trigger("/away")))
	require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(trigger("/round")))
	require.Empty(t, *stolen)
}

func TestHTTPAnswerTooLarge(t *testing.T) {
	server, _ := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, mostAnswer+1)) })
	_, err := httpCall(t, New([]string{server.URL}, nil), wire.HTTPCall, json.RawMessage(`{"url":"`+server.URL+`"}`))
	require.Equal(t, activities.TypeTooLarge, activities.TypeOf(err))
}

func TestHTTPNobodyThere(t *testing.T) {
	server, _ := serve(t, func(http.ResponseWriter, *http.Request) {})
	server.Close()
	_, err := httpCall(t, New([]string{server.URL}, nil), wire.HTTPCall, json.RawMessage(`{"url":"`+server.URL+`/?sig=secret"}`))
	require.Equal(t, activities.TypeUnavailable, activities.TypeOf(err))
	require.NotContains(t, err.Error(), "secret")
}

func TestOrigins(t *testing.T) {
	h := New([]string{"https://Example.com", "http://127.0.0.1:8080/"}, nil)
	require.Equal(t, map[string]bool{"https://example.com:443": true, "http://127.0.0.1:8080": true}, h.allowed)
}

package taskservice

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/taskclaim"
)

// The token goes to its own origin and nowhere else: not to another port or
// scheme, and not along a redirect, which is an answer like any other.
func TestTokenGoesToItsOriginOnly(t *testing.T) {
	got := map[string][]string{}
	listen := func(name string, then http.HandlerFunc) *httptest.Server {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			got[name] = append(got[name], r.Header.Get("Authorization"))
			then(w, r)
		}))
		t.Cleanup(server.Close)
		return server
	}
	other := listen("other", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	own := listen("own", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/moved", http.StatusFound)
	})
	s := &Client{HTTP: NewHTTP(), Origin: own.URL, Token: "s3cret"}

	answer := s.Call(context.Background(), http.MethodPost, own.URL+"/task/a/runs/0/claim", nil)
	require.Equal(t, http.StatusFound, answer.Status)
	require.Equal(t, []string{"Bearer s3cret"}, got["own"])
	require.Empty(t, got["other"], "a redirect is not followed")

	answer = s.Call(context.Background(), http.MethodGet, other.URL+"/poll-task-url/p/w?sig=abc", nil)
	require.Equal(t, http.StatusNoContent, answer.Status)
	require.Equal(t, []string{""}, got["other"])

	other.Close()
	answer = s.Call(context.Background(), http.MethodGet, other.URL+"/poll-task-url/p/w?sig=abc", nil)
	require.Equal(t, taskclaim.NoAnswer, answer.Status)
	require.NotContains(t, answer.String(), "sig=")
	require.NotContains(t, answer.String(), "s3cret")
}

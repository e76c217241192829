package http

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/wire"
)

func called(name, url, auth string) any {
	if name == wire.HTTPCall {
		return json.RawMessage(`{"url":"` + url + `","auth":"` + auth + `"}`)
	}
	return wire.TriggerInput{URL: url, Method: http.MethodPost, Auth: auth}
}

// An origin that sends back what it got tells the worker's credentials in neither an
// error nor an answer, whatever their scheme.
func TestAnEchoedAuthorizationIsConcealed(t *testing.T) {
	password := "s3cr3t-of-the-deployer"
	basic := base64.StdEncoding.EncodeToString([]byte("deployer:" + password))
	for _, header := range []string{"Basic " + basic, "token opaque-0123456789", "ApiKey/raw-0123456789", "Bearer bearer-0123456789"} {
		for _, status := range []int{http.StatusOK, http.StatusForbidden, http.StatusInternalServerError} {
			server, all := serve(t, func(w http.ResponseWriter, r *http.Request) {
				w.WriteHeader(status)
				_, _ = io.WriteString(w, `{"error":"denied","headers":"Authorization: `+r.Header.Get("Authorization")+`","user":"deployer:`+password+`"}`)
			})
			h := New([]string{server.URL}, map[string]string{"deploy": header})
			for _, name := range []string{wire.HTTPCall, wire.HTTPTrigger.Name} {
				out, err := httpCall(t, h, name, called(name, server.URL, "deploy"))
				told := out.Body
				if err != nil {
					told += err.Error()
				}
				require.Equal(t, header, (*all)[len(*all)-1].auth)
				require.NotContains(t, told, header)
				require.NotContains(t, told, basic)
				require.NotContains(t, told, "0123456789")
				if header == "Basic "+basic {
					require.NotContains(t, told, password)
				}
			}
		}
	}
}

// Credentials that are for one origin go to no other that may be called.
func TestCredentialsGoToTheirOriginOnly(t *testing.T) {
	ours, heard := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	other, unheard := serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	h := New([]string{ours.URL, other.URL}, map[string]string{"deploy": ours.URL + " Bearer for-this-origin-only"})
	call := func(url string) error {
		_, err := httpCall(t, h, wire.HTTPCall, called(wire.HTTPCall, url, "deploy"))
		return err
	}
	require.NoError(t, call(ours.URL+"/deploy"))
	require.Equal(t, "Bearer for-this-origin-only", (*heard)[0].auth)
	err := call(other.URL + "/deploy")
	require.Equal(t, activities.TypeAccessDenied, activities.TypeOf(err))
	require.ErrorContains(t, err, "SLUICE_HTTP_AUTH_DEPLOY is for other origins")
	require.Empty(t, *unheard)
}

// A redirect elsewhere is answered the same each time: it is told, not repeated.
func TestARedirectThatIsNotFollowedIsFinal(t *testing.T) {
	elsewhere, unheard := serve(t, func(http.ResponseWriter, *http.Request) {})
	server, heard := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+"/?token=t", http.StatusTemporaryRedirect)
	})
	_, err := httpCall(t, New([]string{server.URL}, nil), wire.HTTPTrigger.Name, called(wire.HTTPTrigger.Name, server.URL, ""))
	var application *temporal.ApplicationError
	require.True(t, errors.As(err, &application))
	require.True(t, application.NonRetryable())
	require.ErrorContains(t, err, "redirect that is not followed (to "+elsewhere.URL+")")
	require.Len(t, *heard, 1)
	require.Empty(t, *unheard)
}

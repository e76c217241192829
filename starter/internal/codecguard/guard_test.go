package codecguard

import (
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Any page that a browser had open could have payloads decoded: by a name of its own
// that leads to this machine, or as itself.
func TestCodecServerAnswersOnlyKnownHostsAndOrigins(t *testing.T) {
	s := Guard{Hosts: []string{"codec.example.com"}, Origins: []string{"http://localhost:8233"}}
	s.Address = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8234}
	handler := s.Handler(answer("decoded"))
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"127.0.0.1:8234", "", http.StatusOK},
		{"localhost:8234", "http://localhost:8233", http.StatusOK},
		{"[::1]:8234", "", http.StatusOK},
		{"Codec.Example.com", "", http.StatusOK},
		{"codec.example.com:443", "http://localhost:8233", http.StatusOK},
		{"evil.example.com:8234", "", http.StatusMisdirectedRequest},
		{"evil.example.com:8234", "http://evil.example.com:8234", http.StatusMisdirectedRequest},
		{"127.0.0.1", "", http.StatusMisdirectedRequest},
		{"127.0.0.1:8234", "http://evil.example.com", http.StatusForbidden},
		{"127.0.0.1:8234", "null", http.StatusForbidden},
	} {
		for _, method := range []string{http.MethodPost, http.MethodOptions} {
			r := httptest.NewRequest(method, "/decode", strings.NewReader("{}"))
			r.Host = c.host
			if c.origin != "" {
				r.Header.Set("Origin", c.origin)
			}
			got := httptest.NewRecorder()
			handler.ServeHTTP(got, r)
			want := c.want
			if want == http.StatusOK && method == http.MethodOptions {
				want = http.StatusNoContent
			}
			require.Equal(t, want, got.Code, "%s %+v", method, c)
			if c.want != http.StatusOK {
				require.NotContains(t, got.Body.String(), "decoded")
				require.Empty(t, got.Header().Get("Access-Control-Allow-Origin"))
			} else {
				require.Equal(t, c.origin, got.Header().Get("Access-Control-Allow-Origin"))
			}
		}
	}
}

func TestCodecServerWantsItsToken(t *testing.T) {
	s := Guard{Token: "let-me-read", Origins: []string{"https://ui.example.com"}}
	s.Address = &net.TCPAddr{IP: net.IPv4zero, Port: 8234}
	handler := s.Handler(answer("decoded"))
	for authorization, want := range map[string]int{
		"": http.StatusUnauthorized, "Bearer other": http.StatusUnauthorized, "let-me-read": http.StatusUnauthorized,
		"Bearer let-me-read": http.StatusOK, "bearer let-me-read": http.StatusOK,
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost:8234/decode", strings.NewReader("{}"))
		r.Header.Set("Authorization", authorization)
		got := httptest.NewRecorder()
		handler.ServeHTTP(got, r)
		require.Equal(t, want, got.Code, authorization)
	}
	r := httptest.NewRequest(http.MethodOptions, "http://localhost:8234/decode", nil)
	r.Header.Set("Origin", "https://ui.example.com")
	got := httptest.NewRecorder()
	handler.ServeHTTP(got, r)
	require.Equal(t, http.StatusNoContent, got.Code, "a browser asks without the token whether it may send it")
	require.Contains(t, got.Header().Get("Access-Control-Allow-Headers"), "Authorization")
}

func answer(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(text)) })
}

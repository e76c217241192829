package secrets_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// encodings are how an echo may write what it got.
var encodings = map[string]func(string) string{
	"raw":     func(s string) string { return s },
	"base64":  func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) },
	"base64a": func(s string) string { return base64.URLEncoding.EncodeToString([]byte("a" + s)) },
	"base64b": func(s string) string { return base64.RawStdEncoding.EncodeToString([]byte("ab" + s)) },
	"hex":     func(s string) string { return hex.EncodeToString([]byte(s)) },
	"query":   url.QueryEscape,
	"path":    url.PathEscape,
	"json": func(s string) string {
		quoted, _ := json.Marshal(s) // a string can be written
		return string(quoted)
	},
}

// An echo answers every request with its headers. /<status>/<encoding>/<n> says how;
// of 500 and above only the first time, so that what repeats comes to an end. It is a
// task service as well, whose answers fail at first.
type echo struct {
	*httptest.Server
	mu   sync.Mutex
	seen map[string]int
	auth map[string]bool // Authorization headers that came
}

func newEcho(t *testing.T) *echo {
	e := &echo{seen: map[string]int{}, auth: map[string]bool{}}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	e.seen[r.URL.Path]++
	first := e.seen[r.URL.Path] == 1
	e.auth[r.Header.Get("Authorization")] = true
	e.mu.Unlock()
	status, encode := http.StatusInternalServerError, encodings["base64a"]
	if parts := strings.Split(r.URL.Path, "/"); parts[1] != "task" {
		status, _ = strconv.Atoi(parts[1])
		encode = encodings[parts[2]]
	}
	if status >= 500 && !first {
		e.serve(w, r)
		return
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(map[string]string{"you sent": encode("Authorization: " + r.Header.Get("Authorization") + "\r\n" + fmt.Sprint(r.Header))})
}

// serve is what a task service answers that works.
func (e *echo) serve(w http.ResponseWriter, r *http.Request) {
	answer := map[string]any{}
	if strings.HasSuffix(r.URL.Path, "claim") {
		answer = map[string]any{
			"runId": 0, "takenUntil": time.Now().Add(time.Hour).UTC(),
			"task": map[string]any{"payload": map[string]any{"jobs": []any{map[string]any{"id": "call", "activity": "HTTP.Call", "input": map[string]any{"url": e.URL + "/403/base64/task", "auth": "news"}}}}},
		}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

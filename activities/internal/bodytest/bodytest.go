package bodytest

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// seenBodies keeps what the transport is given.
type seenBodies struct {
	writes bool // a body could write itself
	body   []byte
	length int64
}

// RoundTrip answers that all is well.
func (s *seenBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	_, s.writes = r.Body.(io.WriterTo)
	s.length = r.ContentLength
	var err error
	if s.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	answer := `{"Records":[]}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader([]byte(answer))),
		ContentLength: int64(len(answer)), Request: r}, nil
}

// PlainBody fails the test unless call, made with the client, sends the body whole
// and as one that does not write itself.
func PlainBody(t *testing.T, body []byte, call func(*http.Client) error) {
	t.Helper()
	seen := &seenBodies{}
	require.NoError(t, call(&http.Client{Transport: seen}))
	require.False(t, seen.writes)
	require.Equal(t, string(body), string(seen.body))
	require.EqualValues(t, len(body), seen.length)
}

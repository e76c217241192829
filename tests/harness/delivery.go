package harness

import (
	"context"
	"net/http"
	"net/url"
)

// A Delivery is a stream that the stack's stand-in for Firehose delivers to a
// bucket of its own, which announces the objects to an SQS queue.
type Delivery struct {
	Stream, Bucket string
	// Notifications is the URL of the queue.
	Notifications string
}

// Deliver makes a stream and its delivery; objects are written after 1 MiB or
// interval ("2s"), under yyyy/mm/dd/hh/.
func (s *Stack) Deliver(shards int, interval string) Delivery {
	s.t.Helper()
	name := s.Name("delivered")
	d := Delivery{Stream: s.NewStream(shards), Bucket: name}
	request := map[string]any{"stream": d.Stream, "bucket": d.Bucket, "notifications": name, "bufferInterval": interval}
	var added struct {
		Notifications string `json:"notifications"`
	}
	s.Guard.call(s.t, http.MethodPost, "/delivery", request, &added)
	d.Notifications = added.Notifications
	s.t.Cleanup(func() {
		_ = s.Guard.do(context.Background(), http.MethodDelete, "/delivery?stream="+url.QueryEscape(d.Stream), nil, nil)
	})
	return d
}

// RestartTemporal kills the Temporal server with SIGKILL and starts it again at
// the same address. The stack must be the test's own, with --data DIR.
func (s *Stack) RestartTemporal() {
	s.t.Helper()
	if err := s.Guard.restartTemporal(s.t.Context()); err != nil {
		s.t.Fatalf("restart temporal: %v", err)
	}
}

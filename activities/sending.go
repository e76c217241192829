package activities

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// A sending tells of one HTTP request whether any of it may have left: not before
// there is a connection, the handshake of TLS included.
type sending struct{ begun atomic.Bool }

// watch gives the context to send the request with.
func (s *sending) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { s.begun.Store(true) },
	})
}

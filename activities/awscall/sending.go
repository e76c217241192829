package awscall

import (
	"context"
	"net/http/httptrace"
	"sync/atomic"
)

// A Sending tells of one HTTP request whether any of it may have left: not before
// there is a connection, the handshake of TLS included.
type Sending struct{ Begun atomic.Bool }

// Watch gives the context to send the request with, and begins anew.
func (s *Sending) Watch(ctx context.Context) context.Context {
	s.Begun.Store(false)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { s.Begun.Store(true) },
	})
}

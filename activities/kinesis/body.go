package kinesis

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync"
	"sync/atomic"

	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"

	"sluice/internal/recordbatch"
)

// buffers are a request's body and its answer, and what writes it, used again.
type buffers struct {
	body, answer []byte
	encoder      recordbatch.Encoder

	pool  *sync.Pool
	users atomic.Int32 // who made the request, and each connection that it is written to
}

func getBuffers(pool *sync.Pool) *buffers {
	b, _ := pool.Get().(*buffers)
	if b == nil {
		b = &buffers{pool: pool}
	}
	b.users.Store(1)
	return b
}

// release lets the memory be used again once nobody uses it any more: an answer may
// come while the body is still being written.
func (b *buffers) release() {
	if b.users.Add(-1) == 0 {
		b.pool.Put(b)
	}
}

// memoryBody sends a body as what it is, memory. The SDK hides that from the HTTP
// transport, which then writes the header by itself and the body in pieces.
type memoryBody struct {
	awskinesis.HTTPClient
	*buffers
}

func (m memoryBody) Do(r *http.Request) (*http.Response, error) {
	r = r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn:      func(httptrace.GotConnInfo) { m.users.Add(1) },
		WroteRequest: func(httptrace.WroteRequestInfo) { m.release() },
	}))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(m.body)), nil }
	r.Body = io.NopCloser(bytes.NewReader(m.body))
	return m.HTTPClient.Do(r)
}

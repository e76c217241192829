package kinesis

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptrace"
	"slices"
	"sync"
	"sync/atomic"

	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"

	"sluice/internal/recordbatch"
)

// buffers are a request's body and its answer, and what writes it, used again.
type buffers struct {
	body, answer []byte
	encoder      recordbatch.Encoder

	pool  *bufferPool
	users atomic.Int32 // who made the request, and each connection that it is written to
}

// bufferPool is the memory of a stream's requests, used again. A request takes what
// is not much larger than it needs, so that few are ever as large as the largest.
type bufferPool struct {
	mu    sync.Mutex
	free  []*buffers // the one used last at the end
	bytes int        // of those that are free
}

const (
	// pooledBytes is how much memory is kept while nobody uses it.
	pooledBytes = 8 << 20
	// bufferStep is what sizes are rounded up to, so that requests of about one size
	// share memory.
	bufferStep = 64 << 10
)

// get gives memory for a body of so many bytes: what was used last, as it is likely
// to be in the processor's cache still.
func (p *bufferPool) get(size int) *buffers {
	p.mu.Lock()
	defer p.mu.Unlock()
	size = (size + bufferStep - 1) / bufferStep * bufferStep
	for i, b := range slices.Backward(p.free) {
		if room := cap(b.body); room >= size && room <= 2*size {
			p.free = slices.Delete(p.free, i, i+1)
			p.bytes -= b.size()
			b.users.Store(1)
			return b
		}
	}
	b := &buffers{pool: p, body: make([]byte, 0, size)}
	b.users.Store(1)
	return b
}

// put takes memory back, in place of others if it is too much: what was used last is
// the likeliest to be wanted.
func (p *bufferPool) put(b *buffers) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, b)
	p.bytes += b.size()
	for p.bytes > pooledBytes {
		p.bytes -= p.free[0].size()
		p.free = slices.Delete(p.free, 0, 1)
	}
}

func (b *buffers) size() int { return cap(b.body) + cap(b.answer) }

// release lets the memory be used again once nobody uses it any more: an answer may
// come while the body is still being written.
func (b *buffers) release() {
	if b.users.Add(-1) == 0 {
		b.pool.put(b)
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

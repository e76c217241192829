package guard

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// A call is one request on its way through the guard.
type call struct {
	service   Service
	operation string
	target    string
	object    string // of S3: "<bucket>/<key>"
	w         http.ResponseWriter
	r         *http.Request
	body      []byte // where kept, the whole request body
	kept      bool
	doc       doc // the body of a JSON protocol
	faults    plan
	count     func(Count)
}

// keepBody reads the request body into memory.
func (c *call) keepBody() error {
	if c.kept {
		return nil
	}
	var b bytes.Buffer
	if n := c.r.ContentLength; n > 0 {
		b.Grow(int(min(n, 64<<20)) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(c.r.Body); err != nil {
		return err
	}
	c.body, c.kept = b.Bytes(), true
	return nil
}

// An answer is what goes back to the client; its body may still be arriving.
type answer struct {
	status int
	header http.Header
	body   io.Reader
	length int64 // -1: not known
	closer io.Closer
}

func (a *answer) close() {
	if a.closer != nil {
		_ = a.closer.Close()
	}
}

// whole reads the body into memory and answers it.
func (a *answer) whole() ([]byte, error) {
	if b, ok := a.body.(*bytes.Reader); ok {
		text := make([]byte, b.Len())
		_, _ = b.Read(text)
		a.setBody(text)
		return text, nil
	}
	text, err := io.ReadAll(a.body)
	a.setBody(text)
	return text, err
}

func (a *answer) setBody(text []byte) {
	a.body, a.length = bytes.NewReader(text), int64(len(text))
}

// write sends the answer.
func (a *answer) write(c *call) { a.send(c, 0) }

// send writes the answer; with a stall, its second half comes that much later.
func (a *answer) send(c *call, stall time.Duration) {
	header := c.w.Header()
	for name, values := range a.header {
		if !hopByHop[name] {
			header[name] = values
		}
	}
	if c.faults.Skew != 0 {
		header.Set("Date", c.faults.now().UTC().Format(http.TimeFormat))
	}
	if a.length >= 0 && a.status != http.StatusNoContent && a.status != http.StatusNotModified {
		header.Set("Content-Length", strconv.FormatInt(a.length, 10))
	}
	c.w.WriteHeader(a.status)
	if c.r.Method == http.MethodHead {
		return
	}
	if stall > 0 {
		_, _ = io.CopyN(c.w, a.body, a.length/2)
		_ = http.NewResponseController(c.w).Flush()
		pause(c.r.Context(), stall)
	}
	_, _ = io.Copy(c.w, a.body)
}

func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// hopByHop are headers of one connection; net/http writes its own.
var hopByHop = map[string]bool{"Connection": true, "Keep-Alive": true, "Transfer-Encoding": true, "Content-Length": true, "Trailer": true}

// An upstream is an emulator and the connections kept open to it.
type upstream struct {
	address   string
	transport *http.Transport
}

func newUpstream(address string) *upstream {
	return &upstream{address, &http.Transport{
		DialContext:         (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		MaxIdleConnsPerHost: 512,
		DisableCompression:  true,
	}}
}

// send forwards a call as it came, or with another body.
func (u *upstream) send(ctx context.Context, c *call, body []byte) (*answer, error) {
	out := c.r.Clone(ctx)
	out.URL = &url.URL{Scheme: "http", Host: u.address, Path: c.r.URL.Path, RawPath: c.r.URL.RawPath, RawQuery: c.r.URL.RawQuery}
	out.RequestURI = ""
	switch {
	case body != nil:
		out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		out.TransferEncoding = nil
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	case c.r.ContentLength == 0:
		out.Body = http.NoBody
	}
	return u.do(out)
}

// ask makes a call of the guard's own in the AWS JSON protocol; target is the
// X-Amz-Target header. It answers status and body.
func (u *upstream) ask(ctx context.Context, target, contentType string, body []byte) (int, []byte, error) {
	out, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+u.address+"/", bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	out.Header.Set("X-Amz-Target", target)
	out.Header.Set("Content-Type", contentType)
	out.Header.Set("X-Amz-Date", "20200101T000000Z")
	out.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=guard/20200101/us-east-1/guard/aws4_request, SignedHeaders=host, Signature=guard")
	a, err := u.do(out)
	if err != nil {
		return 0, nil, err
	}
	defer a.close()
	text, err := a.whole()
	return a.status, text, err
}

func (u *upstream) do(out *http.Request) (*answer, error) {
	response, err := u.transport.RoundTrip(out) //nolint:bodyclose // the answer's reader closes it
	if err != nil {
		return nil, err
	}
	return &answer{response.StatusCode, response.Header, response.Body, response.ContentLength, response.Body}, nil
}

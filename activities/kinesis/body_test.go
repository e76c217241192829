package kinesis

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"
)

// writes counts how often connections are written to.
type writes struct {
	net.Conn
	count *atomic.Int64
}

func (w writes) Write(p []byte) (int, error) {
	w.count.Add(1)
	return w.Conn.Write(p)
}

// A request whose body has room in the connection's buffer is written in one piece,
// header and body, and whole.
func TestRequestsAreWrittenInOnePiece(t *testing.T) {
	const requests, callers = 50, 4
	body := []byte(`{"StreamName":"s","Records":[` + strings.Repeat(" ", 100<<10) + `]}`)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, err := io.ReadAll(r.Body)
		if err != nil || string(got) != string(body) || r.ContentLength != int64(len(body)) {
			t.Errorf("%d bytes came, %v", len(got), err)
		}
		_, _ = io.WriteString(w, `{"Records":[]}`)
	}))
	defer server.Close()
	var count atomic.Int64
	transport := &http.Transport{WriteBufferSize: 256 << 10, MaxIdleConnsPerHost: callers,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, address)
			return writes{conn, &count}, err
		}}
	defer transport.CloseIdleConnections()
	api := awskinesis.New(awskinesis.Options{Region: "r", BaseEndpoint: aws.String(server.URL), HTTPClient: &http.Client{Transport: transport},
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
	var pool bufferPool
	var group sync.WaitGroup
	for range callers {
		group.Go(func() {
			for range requests {
				x := &rawExchange{buffers: pool.get(len(body))}
				x.body = append(x.body[:0], body...)
				if err := putBody(context.Background(), api, streamName{name: "s"}, x); err != nil {
					t.Error(err)
				}
				x.release()
			}
		})
	}
	group.Wait()
	require.EqualValues(t, callers*requests, count.Load())
}

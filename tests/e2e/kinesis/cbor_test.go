package kinesis_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"

	"sluice/activities"
	"sluice/activities/kinesis"
	"sluice/internal/recordbatch"
	"sluice/tests/harness"
)

// kinesalite starts the emulator by itself: the dev stack's proxy before it knows
// JSON only.
func kinesalite(t *testing.T) *awskinesis.Client {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	_, port, err := net.SplitHostPort(free.Addr().String())
	require.NoError(t, err)
	require.NoError(t, free.Close())
	ctx, stop := context.WithCancel(context.Background())
	node := exec.CommandContext(ctx, "node", filepath.Join(nodeModules(), "kinesalite", "cli.js"), "--port", port,
		"--createStreamMs", "0", "--deleteStreamMs", "0", "--updateStreamMs", "0")
	node.Stderr = os.Stderr
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	t.Cleanup(func() { stop(); _ = node.Wait() })
	_, err = bufio.NewReader(out).ReadString('\n') // it says when it listens
	require.NoError(t, err)
	return awskinesis.New(awskinesis.Options{Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:" + port),
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), HTTPClient: &http.Client{Transport: keptBytes{}}})
}

// keptBytes reads data that came as bytes, of which the emulator answers its own
// form: {"type":"Buffer","data":[…]}.
type keptBytes struct{}

func (keptBytes) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil || !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".GetRecords") {
		return response, err
	}
	defer func() { _ = response.Body.Close() }()
	var page map[string]any
	if err := json.NewDecoder(response.Body).Decode(&page); err != nil {
		return nil, err
	}
	records, _ := page["Records"].([]any)
	for _, r := range records {
		record := r.(map[string]any)
		if kept, ok := record["Data"].(map[string]any); ok {
			var data []byte
			for _, b := range kept["data"].([]any) {
				data = append(data, byte(b.(float64)))
			}
			record["Data"] = data
		}
	}
	body, err := json.Marshal(page)
	response.Body, response.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	response.Header.Del("X-Amz-Crc32")
	return response, err
}

// TestCBORIsTaken: an emulator of another's hand stores what goes in CBOR, keys and
// data of all kinds, and its errors are told as they are.
func TestCBORIsTaken(t *testing.T) {
	stack := harness.Start(t)
	stack.Kinesis = kinesalite(t)
	w := newWorldOn(t, stack, 2, func(s *kinesis.Settings) { s.Protocol = kinesis.ProtocolCBOR })
	const n = 1200
	want := map[string]string{}
	list := make([]map[string]any, n)
	for i := range list {
		data, key := fmt.Appendf(nil, "%d é \x00\xff", i), fmt.Sprintf("kéy-%d", i%70)
		list[i] = map[string]any{"Data": data, "PartitionKey": key}
		want[string(data)] = key
	}
	given, err := json.Marshal(list)
	require.NoError(t, err)
	var out kinesis.PutRecordsOutput
	w.run("Kinesis.PutRecords", fmt.Sprintf(`{"StreamName":%q,"Ordering":"key","Records":%s}`, w.stream, given), &out)
	require.EqualValues(t, n, out.StoredRecordCount)
	require.Zero(t, out.PossiblyDuplicated)
	got := map[string]string{}
	for _, r := range w.read() {
		got[string(r.Data)] = *r.PartitionKey
	}
	require.Equal(t, want, got)

	_, err = w.Kinesis.DeleteStream(t.Context(), &awskinesis.DeleteStreamInput{StreamName: &w.stream})
	require.NoError(t, err)
	harness.Await(t, "the stream's end", func(ctx context.Context) error {
		_, err := w.Kinesis.DescribeStreamSummary(ctx, &awskinesis.DescribeStreamSummaryInput{StreamName: &w.stream})
		if err == nil {
			return errors.New("it is there still")
		}
		return nil
	})
	_, err = w.kinesis.Send(t.Context(), kinesis.Destination{StreamName: w.stream, MaxAttempts: 1},
		[]recordbatch.Record{{Data: []byte("x"), Key: "k"}})
	require.Equal(t, activities.TypeNotFound, activities.TypeOf(err))
	require.ErrorContains(t, err, w.stream)
}

// TestWhatKnowsNoCBORGetsJSON: the dev stack's proxy does not know it.
func TestWhatKnowsNoCBORGetsJSON(t *testing.T) {
	w := newWorld(t, 2, func(s *kinesis.Settings) { s.Protocol = kinesis.ProtocolCBOR })
	var out kinesis.PutRecordsOutput
	w.run("Kinesis.PutRecords", fmt.Sprintf(`{"StreamName":%q,"Records":[{"Data":"eA==","PartitionKey":"k"}]}`, w.stream), &out)
	require.EqualValues(t, 1, out.StoredRecordCount)
	require.Len(t, w.read(), 1)
}

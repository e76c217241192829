package kinesis_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/big"
	"net/http"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities/kinesis"
	"sluice/activities/s3"
	"sluice/internal/recordbatch"
)

// madeLines is an object whose lines are made while they are read, so that the
// object itself takes no memory.
type madeLines struct {
	count int
	line  func(dst []byte, i int) []byte
}

func (m madeLines) OpenObject(_ context.Context, o s3.Object, _ int64) (io.ReadCloser, s3.Object, error) {
	o.ETag = "v1"
	return io.NopCloser(&lineReader{madeLines: m}), o, nil
}

type lineReader struct {
	madeLines
	next int
	rest []byte
	made []byte
}

func (l *lineReader) Read(p []byte) (int, error) {
	if len(l.rest) == 0 {
		if l.next == l.count {
			return 0, io.EOF
		}
		l.made = append(l.line(l.made[:0], l.next), '\n')
		l.rest = l.made
		l.next++
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// nullService answers requests in this process, of which it keeps nothing. One of
// its shards takes nothing until it has refused so many records.
type nullService struct {
	shards recordbatch.ShardMap
	slow   int
	refuse int
	mu     sync.Mutex
	count  map[string]int // records refused, and stored
}

func newNullService(shards, slow, refuse int) *nullService {
	s := &nullService{shards: recordbatch.EvenShards(shards), slow: slow, refuse: refuse, count: map[string]int{}}
	for i := range s.shards {
		s.shards[i].ID = fmt.Sprint("shard-", i)
	}
	return s
}

func (s *nullService) RoundTrip(r *http.Request) (*http.Response, error) {
	var answer []byte
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ListShards") {
		answer = s.list()
	} else {
		answer = s.put(r.Body)
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(answer)),
		ContentLength: int64(len(answer)), Request: r}, nil
}

func (s *nullService) list() []byte {
	var list []string
	for _, one := range s.shards {
		list = append(list, fmt.Sprintf(`{"ShardId":%q,"HashKeyRange":{"StartingHashKey":%q,"EndingHashKey":%q},"SequenceNumberRange":{}}`,
			one.ID, ringPlace(one.From), ringPlace(one.To)))
	}
	return fmt.Appendf(nil, `{"Shards":[%s]}`, strings.Join(list, ","))
}

// ringPlace is a place on the ring of hash keys in decimal digits.
func ringPlace(h recordbatch.Hash) string {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(h.Hi), 64)
	return n.Or(n, new(big.Int).SetUint64(h.Lo)).String()
}

// put reads a body piece by piece, a record's key behind each comma.
func (s *nullService) put(body io.Reader) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	var entries []string
	pieces := bufio.NewReaderSize(body, 64<<10)
	for {
		piece, err := pieces.ReadSlice(',')
		if _, key, ok := bytes.Cut(piece, []byte(`"PartitionKey":"`)); ok {
			entries = append(entries, s.entry(string(key[:bytes.IndexByte(key, '"')])))
		}
		if err != nil && err != bufio.ErrBufferFull {
			return fmt.Appendf(nil, `{"Records":[%s]}`, strings.Join(entries, ","))
		}
	}
}

func (s *nullService) entry(key string) string {
	shard := s.shards.Find(recordbatch.HashOf(&recordbatch.Record{Key: key}))
	if shard == s.slow && s.count["refused"] < s.refuse {
		s.count["refused"]++
		return `{"ErrorCode":"` + recordbatch.CodeThrottled + `"}`
	}
	s.count["stored"]++
	return fmt.Sprintf(`{"SequenceNumber":"1","ShardId":%q}`, s.shards[shard].ID)
}

// resident is the memory that this process has.
func resident(t *testing.T) int64 {
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Skip("the memory of a process is read from /proc, which is not there: ", err)
	}
	pages, err := strconv.ParseInt(strings.Fields(string(raw))[1], 10, 64)
	require.NoError(t, err)
	return pages * int64(os.Getpagesize())
}

// growth is by how much this process grows while it does something.
func growth(t *testing.T, do func()) int64 {
	debug.FreeOSMemory()
	before := resident(t)
	var peak atomic.Int64
	done, watching := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watching)
		for {
			peak.Store(max(peak.Load(), resident(t)))
			select {
			case <-done:
				return
			case <-time.After(10 * time.Millisecond):
			}
		}
	}()
	do()
	close(done)
	<-watching
	return peak.Load() - before
}

// An object streams in its bound of memory, of which its records have most: also while
// a shard takes nothing, and with few keys; a record that waits keeps no other's memory.
func TestPutObjectGrowsByItsBoundOnly(t *testing.T) {
	const size = 200 << 20
	filler := bytes.Repeat([]byte("x"), 1<<20)
	for name, c := range map[string]struct {
		service *nullService
		line    int
		fields  string
		pace    recordbatch.Pace
	}{
		"a shard takes nothing": {newNullService(16, 3, 1500), 20 << 10, "", recordbatch.Pace{}},
		"large records":         {newNullService(16, 3, 20), 1000 << 10, "", recordbatch.Pace{}},
		"few keys":              {newNullService(16, -1, 0), 3 << 10, `,"PartitionKey":"k"`, recordbatch.Pace{Records: math.MaxInt32, Bytes: 16 << 20}},
		"small records":         {newNullService(64, 3, 3000), 200, "", recordbatch.Pace{}},
	} {
		t.Run(name, func(t *testing.T) {
			k := &kinesis.Activities{Settings: kinesis.DefaultSettings(), Logger: log.NewStructuredLogger(slog.New(slog.DiscardHandler))}
			k.Settings.Shard = c.pace
			k.API = awskinesis.New(awskinesis.Options{Region: "r", HTTPClient: &http.Client{Transport: c.service},
				BaseEndpoint: aws.String("http://127.0.0.1:1"), Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")})
			lines := madeLines{count: size / c.line, line: func(dst []byte, i int) []byte {
				dst = fmt.Appendf(dst, `{"k":"%d","n":%d,"x":"`, i%50, i)
				return append(append(dst, filler[:c.line-len(dst)-2]...), `"}`...)
			}}
			if c.line < 1<<10 {
				lines.count /= 4
			}
			k.Objects = lines
			env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
			env.SetTestTimeout(5 * time.Minute)
			env.RegisterActivity(k.PutObject)
			input := json.RawMessage(`{"StreamName":"s","Object":{"bucket":"b","key":"k"},"MaxAttempts":1000` + c.fields + `}`)
			var out kinesis.PutRecordsOutput
			grown := growth(t, func() {
				value, err := env.ExecuteActivity(k.PutObject, input)
				require.NoError(t, err)
				require.NoError(t, value.Get(&out))
			})
			require.EqualValues(t, lines.count, out.RecordCount)
			require.EqualValues(t, lines.count, out.StoredRecordCount+out.FailedRecordCount)
			require.Equal(t, c.service.refuse, c.service.count["refused"])
			t.Logf("grown by %d MiB", grown>>20)
			require.LessOrEqual(t, grown, int64(k.Settings.BufferBytes)+64<<20)
		})
	}
}

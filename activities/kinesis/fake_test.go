package kinesis

import (
	"bytes"
	"cmp"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"sluice/activities"
	"sluice/internal/recordbatch"
)

// fakeStream answers PutRecords as a test says, and keeps what it stored.
type fakeStream struct {
	t      testing.TB
	shards recordbatch.ShardMap
	// answer may end call n (from 1) in its own way; it says whether it did.
	answer func(w http.ResponseWriter, n int, records []recordbatch.Record) bool
	// refuse gives the error code of a record, "" to store it.
	refuse func(n int, shard string, r recordbatch.Record) string
	// cbor, where it is set, answers requests in CBOR, which the service does not take.
	cbor func(w http.ResponseWriter)

	mu     sync.Mutex
	lists  int           // of shards
	hold   chan struct{} // lists wait for it, where there is one
	calls  [][]recordbatch.Record
	at     []time.Time
	stored []recordbatch.Record
	called chan struct{} // a call came

	refusedCBOR int
	generation  int  // of shards
	unlisted    bool // they may not be listed
	gone        bool // the stream
	arn         string
	described   int
}

func newFakeStream(t testing.TB, shards int) *fakeStream {
	f := &fakeStream{t: t, shards: recordbatch.EvenShards(shards), called: make(chan struct{}, 1)}
	for i := range f.shards {
		f.shards[i].ID = fmt.Sprintf("shardId-%012d", i)
	}
	return f
}

// reshard gives the stream other shards, with names of their own.
func (f *fakeStream) reshard(shards int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.shards = recordbatch.EvenShards(shards)
	f.generation++
	for i := range f.shards {
		f.shards[i].ID = fmt.Sprintf("shardId-%06d%06d", f.generation, i)
	}
}

func (f *fakeStream) shardOf(r *recordbatch.Record) string {
	return f.shards[f.shards.Find(recordbatch.HashOf(r))].ID
}

func decimal(h recordbatch.Hash) string {
	n := new(big.Int).Lsh(new(big.Int).SetUint64(h.Hi), 64)
	return n.Or(n, new(big.Int).SetUint64(h.Lo)).String()
}

func (f *fakeStream) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".DescribeStreamSummary") {
		f.described++
		if f.arn == "" {
			fail(w, http.StatusBadRequest, "AccessDeniedException", "not this")
			return
		}
		fmt.Fprintf(w, `{"StreamDescriptionSummary":{"StreamName":"s","StreamARN":%q}}`, f.arn)
		return
	}
	if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ListShards") {
		f.mu.Lock()
		f.lists++
		shards := f.shards
		f.mu.Unlock()
		if f.hold != nil {
			<-f.hold
		}
		if f.gone {
			fail(w, http.StatusBadRequest, "ResourceNotFoundException", "there is none")
			return
		}
		if f.unlisted {
			fail(w, http.StatusBadRequest, "AccessDeniedException", "not these")
			return
		}
		var list []string
		for _, s := range shards {
			list = append(list, fmt.Sprintf(`{"ShardId":%q,"HashKeyRange":{"StartingHashKey":%q,"EndingHashKey":%q},"SequenceNumberRange":{"StartingSequenceNumber":"1"}}`,
				s.ID, decimal(s.From), decimal(s.To)))
		}
		fmt.Fprintf(w, `{"Shards":[%s]}`, strings.Join(list, ","))
		return
	}
	var in struct {
		Records []struct {
			Data                          []byte
			PartitionKey, ExplicitHashKey string
		}
	}
	if r.Header.Get("Content-Type") != contentCBOR {
		require.NoError(f.t, json.Unmarshal(body, &in))
	} else {
		require.NoError(f.t, cbor.Unmarshal(body, &in))
		if f.cbor != nil {
			f.refusedCBOR++
			f.cbor(w)
			return
		}
		w = newCBORWriter(w)
	}
	records := make([]recordbatch.Record, len(in.Records))
	for i, e := range in.Records {
		records[i] = recordbatch.Record{Data: e.Data, Key: e.PartitionKey, HashKey: e.ExplicitHashKey}
	}
	f.mu.Lock()
	f.calls, f.at = append(f.calls, records), append(f.at, time.Now())
	n := len(f.calls)
	f.mu.Unlock()
	activities.Notify(f.called)
	if f.answer != nil && f.answer(w, n, records) {
		return
	}
	_, _ = io.WriteString(w, f.put(n, records))
}

// put stores records and makes the service's answer.
func (f *fakeStream) put(n int, records []recordbatch.Record) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	entries, failed := make([]string, len(records)), 0
	for i, r := range records {
		shard := f.shardOf(&r)
		if f.refuse != nil {
			if code := f.refuse(n, shard, r); code != "" {
				failed++
				entries[i] = fmt.Sprintf(`{"ErrorCode":%q,"ErrorMessage":"refused"}`, code)
				continue
			}
		}
		f.stored = append(f.stored, r)
		entries[i] = fmt.Sprintf(`{"SequenceNumber":"%d","ShardId":%q}`, len(f.stored), shard)
	}
	return fmt.Sprintf(`{"FailedRecordCount":%d,"Records":[%s]}`, failed, strings.Join(entries, ","))
}

func (f *fakeStream) callCount() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// fail answers an error of the service.
func fail(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("X-Amzn-Errortype", code)
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"__type":%q,"message":%q}`, code, message)
}

// memoryLetters keeps what is written as dead letters.
type memoryLetters struct {
	objects  map[string][]byte
	messages []string
}

func (m *memoryLetters) WriteObject(_ context.Context, bucket, key string, body []byte) error {
	m.objects[bucket+"/"+key] = body
	return nil
}

func (m *memoryLetters) SendMessage(_ context.Context, _, body string) error {
	m.messages = append(m.messages, body)
	return nil
}

// world runs the Kinesis activities against a fake stream.
type world struct {
	t       testing.TB
	stream  *fakeStream
	kinesis *Activities
	letters *memoryLetters
	env     *testsuite.TestActivityEnvironment
}

func newWorld(t testing.TB, shards int, change ...func(*Settings)) *world {
	f := newFakeStream(t, shards)
	server := httptest.NewServer(f)
	t.Cleanup(server.CloseClientConnections)
	t.Cleanup(server.Close)
	settings := DefaultSettings()
	settings.Protocol = cmp.Or(os.Getenv(testProtocol), ProtocolJSON)
	for _, c := range change {
		c(&settings)
	}
	w := &world{t: t, stream: f, letters: &memoryLetters{objects: map[string][]byte{}}}
	w.kinesis = &Activities{
		API: awskinesis.New(awskinesis.Options{Region: "us-east-1", BaseEndpoint: aws.String(server.URL),
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", "")}),
		Letters: w.letters, Settings: settings, Logger: log.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	}
	w.fresh()
	return w
}

// fresh makes a new environment: a checkpoint that was set holds for one.
func (w *world) fresh() {
	suite := &testsuite.WorkflowTestSuite{}
	suite.SetLogger(w.kinesis.Logger)
	w.env = suite.NewTestActivityEnvironment()
	w.env.SetTestTimeout(time.Minute)
	for _, a := range w.kinesis.All() {
		w.env.RegisterActivityWithOptions(a.Code, activity.RegisterOptions{Name: a.Name})
	}
}

// try runs PutRecords; fields are those beside the stream and the records.
func (w *world) try(records []recordbatch.Record, fields string) (out PutRecordsOutput, err error) {
	value, err := w.env.ExecuteActivity("Kinesis.PutRecords", putDocument(records, fields))
	if err != nil {
		return out, err
	}
	return out, value.Get(&out)
}

func (w *world) put(records []recordbatch.Record, fields string) PutRecordsOutput {
	w.t.Helper()
	out, err := w.try(records, fields)
	require.NoError(w.t, err)
	require.Equal(w.t, out.RecordCount, out.StoredRecordCount+out.FailedRecordCount)
	return out
}

func putDocument(records []recordbatch.Record, fields string) json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"StreamName":"s"`)
	if fields != "" {
		b.WriteString("," + fields)
	}
	b.WriteString(`,"Records":[`)
	for i, r := range records {
		if i > 0 {
			b.WriteByte(',')
		}
		key, _ := json.Marshal(r.Key)
		if !json.Valid([]byte(`"`+r.Key+`"`)) || strings.ContainsRune(r.Key, '\uFFFD') {
			key = []byte(`"` + r.Key + `"`)
		}
		fmt.Fprintf(&b, `{"Data":%q,"PartitionKey":%s`, base64.StdEncoding.EncodeToString(r.Data), key)
		if r.HashKey != "" {
			fmt.Fprintf(&b, `,"ExplicitHashKey":%q`, r.HashKey)
		}
		b.WriteByte('}')
	}
	b.WriteString("]}")
	return b.Bytes()
}

// numbered are n records that say their number, with keys of so many kinds.
func numbered(n, keys int) []recordbatch.Record {
	list := make([]recordbatch.Record, n)
	for i := range list {
		list[i] = recordbatch.Record{Data: fmt.Appendf(nil, "%06d", i), Key: fmt.Sprintf("key-%d", i%keys)}
	}
	return list
}

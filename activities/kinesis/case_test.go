package kinesis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/recordbatch"
)

// The cases of the field, by their numbers.

func TestCaseK01BatchesStayWithinThePayload(t *testing.T) {
	w := newWorld(t, 1)
	var records []recordbatch.Record
	for i := range 140 { // 140 × 10 KiB: what a payload of 2 MiB holds in base64
		records = append(records, recordbatch.Record{Data: bytes.Repeat([]byte{byte(i)}, 10<<10), Key: fmt.Sprint("k", i)})
	}
	out := w.put(records, "")
	require.EqualValues(t, 140, out.StoredRecordCount)
	told, err := json.Marshal(out)
	require.NoError(t, err)
	require.Less(t, len(told), 1<<10, "the result has counts, not records")
	out = w.put([]recordbatch.Record{{Data: make([]byte, 1_000_000), Key: "a"}, {Data: make([]byte, 400_000), Key: "b"}}, "")
	require.EqualValues(t, 2, out.StoredRecordCount)
}

func TestCaseK03EachEntryIsJudgedByItself(t *testing.T) {
	ok, bad := `{"SequenceNumber":"1","ShardId":"shardId-000000000000"}`, `{"ErrorCode":"InternalFailure","ErrorMessage":"m"}`
	for name, c := range map[string]struct {
		answer       string
		again        int // records of the second call
		possiblyMore int64
	}{
		"count 1, three codes":      {`{"FailedRecordCount":1,"Records":[` + bad + "," + bad + "," + bad + "," + ok + "," + ok + "]}", 3, 0},
		"count null, two codes":     {`{"FailedRecordCount":null,"Records":[` + bad + "," + ok + "," + bad + "," + ok + "," + ok + "]}", 2, 0},
		"neither code nor number":   {`{"FailedRecordCount":0,"Records":[` + ok + ",{}," + ok + "," + ok + "," + ok + "]}", 1, 1},
		"four entries for five":     {`{"FailedRecordCount":0,"Records":[` + ok + "," + ok + "," + ok + "," + ok + "]}", 5, 5},
		"an empty code is no error": {`{"FailedRecordCount":0,"Records":[{"SequenceNumber":"1","ShardId":"shardId-000000000000","ErrorCode":""},` + ok + "," + ok + "," + ok + "," + ok + "]}", 0, 0},
		"no count at all":           {`{"Records":[` + ok + "," + bad + "," + ok + "," + ok + "," + ok + "]}", 1, 0},
		"an answer that is no JSON": {`<html>`, 5, 5},
		"an answer that is cut off": {`{"Records":[` + ok, 5, 5},
		"more entries than records": {`{"Records":[` + ok + "," + ok + "," + ok + "," + ok + "," + ok + "," + ok + "]}", 5, 5},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1)
			w.stream.answer = func(rw http.ResponseWriter, n int, _ []recordbatch.Record) bool {
				if n == 1 {
					_, _ = rw.Write([]byte(c.answer))
				}
				return n == 1
			}
			out := w.put(numbered(5, 5), "")
			require.EqualValues(t, 5, out.StoredRecordCount)
			require.Equal(t, c.possiblyMore, out.PossiblyDuplicated)
			if c.again == 0 {
				require.Len(t, w.stream.calls, 1)
				return
			}
			require.Len(t, w.stream.calls, 2)
			require.Len(t, w.stream.calls[1], c.again)
		})
	}
}

func TestCaseK05OversizedRecordsAreSetAside(t *testing.T) {
	ok := recordbatch.Record{Data: []byte("ok"), Key: "k"}
	const over = 1<<20 + 1
	tooLarge := recordbatch.Record{Data: make([]byte, over-1), Key: "k"}
	t.Run("alone", func(t *testing.T) {
		w := newWorld(t, 1)
		out := w.put([]recordbatch.Record{tooLarge}, `"DeadLetter":{"bucket":"b","prefix":"dead/"}`)
		require.EqualValues(t, 1, out.FailedRecordCount)
		require.Equal(t, recordbatch.CodeRecordTooLarge, out.Failed[0].ErrorCode)
		require.Contains(t, out.Failed[0].ErrorMessage, "1048577")
		require.Zero(t, w.stream.callCount())
		require.Len(t, w.letters.objects, 1)
	})
	t.Run("between neighbours", func(t *testing.T) {
		w := newWorld(t, 1)
		out := w.put([]recordbatch.Record{ok, tooLarge, ok}, `"DeadLetter":{"queueUrl":"http://q"}`)
		require.EqualValues(t, 2, out.StoredRecordCount)
		require.EqualValues(t, 1, out.Failed[0].Index)
		require.Equal(t, 1, w.stream.callCount())
		require.Len(t, w.letters.messages, 1)
		require.Contains(t, w.letters.messages[0], `"DataOmitted":1048576`)
	})
	t.Run("many, by a lower limit", func(t *testing.T) {
		w := newWorld(t, 1, func(s *Settings) { s.Limits.RecordBytes = 100 })
		many := make([]recordbatch.Record, 500)
		for i := range many {
			many[i] = recordbatch.Record{Data: make([]byte, 101), Key: "k"}
		}
		out := w.put(many, `"DeadLetter":{"bucket":"b"}`)
		require.EqualValues(t, 500, out.FailedRecordCount)
		require.Zero(t, w.stream.callCount())
		for _, object := range w.letters.objects {
			require.Len(t, bytes.Split(bytes.TrimSpace(object), []byte("\n")), 500)
		}
	})
	t.Run("none and empty", func(t *testing.T) {
		w := newWorld(t, 1)
		require.Zero(t, w.put(nil, "").RecordCount)
		require.Zero(t, w.stream.callCount())
		require.EqualValues(t, 1, w.put([]recordbatch.Record{{Key: "k"}}, "").StoredRecordCount)
	})
}

func TestCaseK06StoredButTheAnswerNeverComes(t *testing.T) {
	for name, lose := range map[string]func(w http.ResponseWriter, answer string, over <-chan struct{}){
		"the body stalls": func(w http.ResponseWriter, answer string, over <-chan struct{}) {
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			<-over
		},
		"the connection closes after the headers": func(w http.ResponseWriter, answer string, _ <-chan struct{}) {
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			w.WriteHeader(http.StatusOK)
			w.(http.Flusher).Flush()
			connection, _, err := w.(http.Hijacker).Hijack()
			if err == nil {
				_ = connection.Close()
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, func(s *Settings) { s.RequestTimeout = 3 * time.Second })
			over := make(chan struct{})
			t.Cleanup(func() { close(over) })
			w.stream.answer = func(rw http.ResponseWriter, n int, records []recordbatch.Record) bool {
				if n == 1 {
					lose(rw, w.stream.put(n, records), over)
				}
				return n == 1
			}
			out := w.put(numbered(7, 7), "")
			require.EqualValues(t, 7, out.StoredRecordCount)
			require.EqualValues(t, 7, out.PossiblyDuplicated)
			require.Equal(t, 2, w.stream.callCount(), "the SDK repeats nothing by itself")
			require.Len(t, w.stream.stored, 14)
		})
	}
}

func TestCaseK08BadKeysAreSetAside(t *testing.T) {
	w := newWorld(t, 1)
	ok := recordbatch.Record{Data: []byte("x"), Key: "k"}
	with := func(key, hash string) recordbatch.Record {
		return recordbatch.Record{Data: []byte("x"), Key: key, HashKey: hash}
	}
	records := []recordbatch.Record{ok, with(strings.Repeat("k", 257), ""), with("", ""), with(strings.Repeat("\U0001F600", 200), ""),
		with("k", "abc"), with("k", "-1"), with("k", "340282366920938463463374607431768211456"), with("k", "340282366920938463463374607431768211455"), with("k", "0")}
	out := w.put(records, "")
	require.EqualValues(t, 4, out.StoredRecordCount)
	require.EqualValues(t, 5, out.FailedRecordCount)
	var codes []string
	for _, f := range out.Failed {
		codes = append(codes, fmt.Sprint(f.Index, f.ErrorCode))
	}
	require.Equal(t, []string{"1InvalidPartitionKey", "2InvalidPartitionKey", "4InvalidExplicitHashKey", "5InvalidExplicitHashKey", "6InvalidExplicitHashKey"}, codes)
	require.Equal(t, 1, w.stream.callCount())
	require.NotNil(t, w.kinesis.Settings.Limits.Check(&recordbatch.Record{Key: "\xff\xfe"}))
}

func TestCaseK08ValidationErrorsAreNeverRepeatedUnchanged(t *testing.T) {
	w := newWorld(t, 1)
	poison := func(records []recordbatch.Record) bool {
		for _, r := range records {
			if string(r.Data) == "000013" {
				return true
			}
		}
		return false
	}
	w.stream.answer = func(rw http.ResponseWriter, _ int, records []recordbatch.Record) bool {
		if poison(records) {
			fail(rw, http.StatusBadRequest, "ValidationException", "one of them is wrong")
		}
		return poison(records)
	}
	out := w.put(numbered(100, 100), "")
	require.EqualValues(t, 99, out.StoredRecordCount)
	require.EqualValues(t, 13, out.Failed[0].Index)
	require.Equal(t, "ValidationException", out.Failed[0].ErrorCode)
	require.Zero(t, out.PossiblyDuplicated)
	require.Less(t, w.stream.callCount(), 30)
}

// TestCaseK11AHotShardBacksOffAlone runs the case in a tenth of its time.
func TestCaseK11AHotShardBacksOffAlone(t *testing.T) {
	w := newWorld(t, 2)
	const outage = 6 * time.Second
	began := time.Now()
	hot := w.stream.shards[1].ID
	w.stream.refuse = func(_ int, shard string, _ recordbatch.Record) string {
		if shard == hot && time.Since(began) < outage {
			return recordbatch.CodeThrottled
		}
		return ""
	}
	out := w.put(numbered(1200, 40), `"MaxAttempts":1000`)
	require.EqualValues(t, 1200, out.StoredRecordCount)
	require.Zero(t, out.PossiblyDuplicated)
	var healthy, late int
	w.stream.mu.Lock()
	defer w.stream.mu.Unlock()
	for i, call := range w.stream.calls {
		isHot := false
		for _, r := range call {
			isHot = isHot || w.stream.shardOf(&r) == hot
		}
		after := w.stream.at[i].Sub(began)
		if isHot && after > outage/2 && after < outage {
			late++
		}
		if after < outage {
			healthy += len(call)
		}
	}
	require.LessOrEqual(t, late, 6, "under two calls a second for the throttled shard at the end")
	require.Greater(t, healthy, 500, "the healthy shard goes on")
}

func TestCaseK11AllInternalFailureIsTheServices(t *testing.T) {
	w := newWorld(t, 2)
	w.stream.refuse = func(n int, _ string, _ recordbatch.Record) string {
		if n <= 3 {
			return recordbatch.CodeInternal
		}
		return ""
	}
	out := w.put(numbered(50, 50), "")
	require.EqualValues(t, 50, out.StoredRecordCount)
	require.Len(t, w.stream.calls, 4)
	for i := 1; i < 4; i++ {
		require.GreaterOrEqual(t, w.stream.at[i].Sub(w.stream.at[i-1]), 20*time.Millisecond, "no tight repeats")
	}
}

func TestCaseK12ExactlyAtTheLimit(t *testing.T) {
	exact := make([]recordbatch.Record, 5)
	for i := range exact {
		exact[i] = recordbatch.Record{Data: make([]byte, 1_048_560), Key: fmt.Sprintf("key-%012d", i)}
	}
	for name, limit := range map[string]int{"refused at the limit": 5_242_880, "refused below": 5_242_680} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 1, func(s *Settings) { s.Shard = recordbatch.Pace{} })
			var once sync.Once
			w.stream.answer = func(rw http.ResponseWriter, _ int, records []recordbatch.Record) bool {
				size := 0
				for i := range records {
					size += records[i].Size()
				}
				once.Do(func() { require.Equal(t, 5_242_880, size, "the request is filled to the byte") })
				if size >= limit {
					fail(rw, http.StatusBadRequest, "InvalidArgumentException", "Records size exceeds 5 MB limit")
				}
				return size >= limit
			}
			to := defaultDestination()
			to.StreamName = "s"
			out, err := w.kinesis.Send(t.Context(), to, exact)
			require.NoError(t, err)
			require.EqualValues(t, 5, out.StoredRecordCount)
			require.LessOrEqual(t, w.stream.callCount(), 3)
		})
	}
	for n, calls := range map[int]int{500: 1, 501: 2} {
		w := newWorld(t, 1)
		require.EqualValues(t, n, w.put(numbered(n, 7), "").StoredRecordCount)
		require.Equal(t, calls, w.stream.callCount())
	}
}

func TestCaseK15ALoneRecordDoesNotWaitForCompany(t *testing.T) {
	w := newWorld(t, 1)
	started := time.Now()
	require.EqualValues(t, 4, w.put(numbered(4, 4), "").StoredRecordCount)
	require.GreaterOrEqual(t, w.stream.at[0].Sub(started), 90*time.Millisecond, "it waits for the interval, no longer")

	manual := newWorld(t, 1, func(s *Settings) { s.FlushInterval, s.Shard = 0, recordbatch.Pace{} })
	require.EqualValues(t, 3000, manual.put(numbered(3000, 30), "").StoredRecordCount)
	require.Equal(t, 6, manual.stream.callCount())
}

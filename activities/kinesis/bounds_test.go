package kinesis

import (
	"context"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/recordbatch"
)

// TestTheProducerIsBounded: whoever puts more than the buffer holds waits for room,
// by records and by bytes, and all goes through.
func TestTheProducerIsBounded(t *testing.T) {
	const calls, each, size = 8, 200, 100
	for name, bound := range map[string]func(*Settings){
		"records": func(s *Settings) { s.BufferRecords = 150 },
		"bytes":   func(s *Settings) { s.BufferBytes = 150 * (size + 192) / 2 * 5 },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, bound, func(s *Settings) { s.Limits.Records, s.Shard = 40, recordbatch.Pace{} })
			s, err := w.kinesis.stream(t.Context(), streamName{name: "s"})
			require.NoError(t, err)
			w.stream.answer = func(http.ResponseWriter, int, []recordbatch.Record) bool {
				s.mu.Lock()
				defer s.mu.Unlock()
				if held := s.queue.Held(); held > 150 {
					t.Errorf("%d records are held", held)
				}
				if held := s.queue.Memory(); held > w.kinesis.Settings.BufferBytes {
					t.Errorf("%d bytes are held", held)
				}
				return false
			}
			records := numbered(each, each)
			for i := range records {
				records[i].Data = make([]byte, size-len(records[i].Key))
			}
			to := defaultDestination()
			to.StreamName = "s"
			done := make(chan error)
			for range calls {
				go func() {
					_, err := w.kinesis.Send(context.Background(), to, records)
					done <- err
				}()
			}
			for range calls {
				require.NoError(t, <-done)
			}
			require.Len(t, w.stream.stored, calls*each)
		})
	}
}

// TestHealthyKeysGoOn: in key order a key whose record is refused again and again
// holds up no other.
func TestHealthyKeysGoOn(t *testing.T) {
	w := newWorld(t, 1)
	healthy := 0
	w.stream.refuse = func(_ int, _ string, r recordbatch.Record) string {
		if r.Key == "key-0" && healthy < 90 {
			return recordbatch.CodeInternal
		}
		if r.Key != "key-0" {
			healthy++
		}
		return ""
	}
	out := w.put(numbered(100, 10), `"Ordering":"key","MaxAttempts":1000`)
	require.EqualValues(t, 100, out.StoredRecordCount)
	for i, r := range w.stream.stored {
		require.Equal(t, i >= 90, r.Key == "key-0", "record %d is of %s", i, r.Key)
	}
}

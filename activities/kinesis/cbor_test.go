package kinesis

import (
	"bufio"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"sync"
	"testing"

	"github.com/fxamacker/cbor/v2"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/log"

	"sluice/activities"
	"sluice/internal/recordbatch"
)

// testProtocol names the environment variable by which the tests of this package
// are run over another protocol.
const testProtocol = "SLUICE_TEST_KINESIS_PROTOCOL"

// TestAllTheSameOverCBOR runs every test of this package again over CBOR: the same
// books, errors and repeats are expected.
func TestAllTheSameOverCBOR(t *testing.T) {
	if os.Getenv(testProtocol) != "" {
		return
	}
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.skip", "^"+t.Name()+"$", "-test.timeout", "10m")
	again.Env = append(os.Environ(), testProtocol+"="+ProtocolCBOR)
	out, err := again.CombinedOutput()
	require.NoError(t, err, string(out))
}

// cborWriter writes the JSON of an answer as CBOR, and tells an error's code in the
// body only.
type cborWriter struct{ http.ResponseWriter }

func newCBORWriter(w http.ResponseWriter) cborWriter {
	w.Header().Set("Content-Type", contentCBOR)
	return cborWriter{w}
}

func (w cborWriter) WriteHeader(status int) {
	w.Header().Del("X-Amzn-Errortype")
	w.ResponseWriter.WriteHeader(status)
}

func (w cborWriter) Write(text []byte) (int, error) {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return w.ResponseWriter.Write(text) // one that can't be read
	}
	raw, err := cbor.Marshal(value)
	if err == nil {
		_, err = w.ResponseWriter.Write(raw)
	}
	return len(text), err
}

func (w cborWriter) Flush() { w.ResponseWriter.(http.Flusher).Flush() }

func (w cborWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return w.ResponseWriter.(http.Hijacker).Hijack()
}

// warnings are what a logger is warned of.
type warnings struct {
	log.Logger
	mu   sync.Mutex
	told []string
}

func (w *warnings) Warn(message string, _ ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.told = append(w.told, message)
}

// A service that does not know CBOR, in whatever way it says so, gets JSON, with one
// warning; nothing is lost, and nothing goes twice unless it may have been stored.
func TestAServiceThatRefusesCBORGetsJSON(t *testing.T) {
	for name, refuse := range map[string]func(w http.ResponseWriter){
		"unsupported media type": func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnsupportedMediaType) },
		"it can't read it":       func(w http.ResponseWriter) { fail(w, http.StatusBadRequest, "SerializationException", "") },
		"unknown operation":      func(w http.ResponseWriter) { fail(w, http.StatusNotFound, "UnknownOperationException", "") },
		"it breaks":              func(w http.ResponseWriter) { http.Error(w, "<html>", http.StatusInternalServerError) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, 2, func(s *Settings) { s.Protocol = ProtocolCBOR })
			told := &warnings{Logger: w.kinesis.Logger}
			w.kinesis.Logger = told
			w.stream.cbor = refuse
			for range 3 {
				out := w.put(numbered(40, 10), `"Ordering":"key"`)
				require.EqualValues(t, 40, out.StoredRecordCount)
			}
			require.Len(t, w.stream.stored, 120)
			require.Len(t, told.told, 1)
			require.Contains(t, told.told[0], "does not take CBOR")
			require.Equal(t, 1, w.stream.refusedCBOR)
		})
	}
}

// A service that takes CBOR and fails now and then, or stands behind something that
// does, is not taken for one that refuses it.
func TestAFaultIsNoRefusalOfCBOR(t *testing.T) {
	w := newWorld(t, 1, func(s *Settings) { s.Protocol = ProtocolCBOR })
	require.EqualValues(t, 5, w.put(numbered(5, 5), "").StoredRecordCount)
	broken := 2
	w.stream.cbor = func(rw http.ResponseWriter) {
		http.Error(rw, "<html>", http.StatusServiceUnavailable)
		if broken--; broken == 0 {
			w.stream.cbor = nil
		}
	}
	require.EqualValues(t, 5, w.put(numbered(5, 5), "").StoredRecordCount)
	require.True(t, w.kinesis.cbor())
}

// The first answer may be an error that says nothing of the protocol: one in CBOR is
// none of JSON.
func TestAnErrorInCBORKeepsCBOR(t *testing.T) {
	w := newWorld(t, 1, func(s *Settings) { s.Protocol = ProtocolCBOR })
	w.stream.answer = func(rw http.ResponseWriter, n int, _ []recordbatch.Record) bool {
		if n == 1 {
			fail(rw, http.StatusBadRequest, "AccessDeniedException", "no")
		}
		return n == 1
	}
	_, err := w.try(numbered(3, 3), "")
	require.Equal(t, "AccessDenied", activities.TypeOf(err))
	details, _ := activities.DetailsOf(err)
	require.Equal(t, "AccessDeniedException", details.Code)
	w.fresh()
	require.EqualValues(t, 3, w.put(numbered(3, 3), "").StoredRecordCount)
	require.True(t, w.kinesis.cbor())
}

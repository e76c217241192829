package kinesis

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"

	"sluice/internal/objectrecords"
)

func compress(t *testing.T, coding, text string) string {
	var b bytes.Buffer
	var w io.WriteCloser
	switch coding {
	case objectrecords.Identity:
		return text
	case objectrecords.Gzip:
		w = gzip.NewWriter(&b)
	case objectrecords.Zstd:
		z, err := zstd.NewWriter(&b)
		require.NoError(t, err)
		w = z
	}
	_, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.String()
}

// TestPutObjectGoesOnInEveryFormat: an attempt that begins with a checkpoint sends
// what an undisturbed one would have sent from there, whatever the format and the
// coding, the header of a CSV and the numbers of an envelope included.
func TestPutObjectGoesOnInEveryFormat(t *testing.T) {
	const n = 60
	texts := map[string]string{objectrecords.Lines: "", objectrecords.JSONArray: "[", objectrecords.CSV: "id,text\n"}
	for i := range n {
		texts[objectrecords.Lines] += fmt.Sprintf("line %d\r\n\n", i)
		texts[objectrecords.JSONArray] += fmt.Sprintf("{\"id\": %d}\n , ", i)
		texts[objectrecords.CSV] += fmt.Sprintf("%d,\"x\n\"\"%d\"\"\"\n", i, i)
	}
	texts[objectrecords.JSONArray] = strings.TrimRight(texts[objectrecords.JSONArray], " ,") + "]"
	for format, text := range texts {
		for _, coding := range []string{objectrecords.Identity, objectrecords.Gzip, objectrecords.Zstd} {
			t.Run(format+" "+coding, func(t *testing.T) {
				fields := `"Format":"` + format + `","Envelope":true,"Run":"r"`
				undisturbed := newWorld(t, 1, atOnce)
				undisturbed.object(compress(t, coding, text))
				_, err := undisturbed.putObject(fields)
				require.NoError(t, err)
				require.Len(t, undisturbed.stream.stored, n)

				ends := endsOf(t, format, text)
				for i, next := range []int64{1, 37, n, 1, 37, n} {
					w := newWorld(t, 1, atOnce)
					w.object(compress(t, coding, text))
					state := putState{Next: next, Offset: ends[next-1], ETag: "v1", Coding: coding,
						Output: PutRecordsOutput{StoredRecordCount: next}}
					if i < 3 { // else it is put together by somebody
						state = whole(state)
					}
					w.env.SetHeartbeatDetails(state)
					out, err := w.putObject(fields)
					require.NoError(t, err)
					require.EqualValues(t, n, out.RecordCount)
					require.EqualValues(t, n, out.StoredRecordCount)
					require.Equal(t, undisturbed.stream.stored[next:], append(undisturbed.stream.stored[:0:0], w.stream.stored...))
				}
			})
		}
	}
}

// endsOf are where the records of a text end.
func endsOf(t *testing.T, format, text string) (ends []int64) {
	reader, err := objectrecords.NewReader(format, strings.NewReader(text), 0, nil)
	require.NoError(t, err)
	for {
		record, err := reader.Next()
		if err == io.EOF {
			return ends
		}
		require.NoError(t, err)
		ends = append(ends, record.End)
	}
}

// atOnce has the end of a call send what it has, without a wait for company.
func atOnce(s *Settings) { s.FlushInterval = 0 }

package objectrecords

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A byte order mark is passed over in every format, before a quoted header too, and
// reading may go on behind any record.
func TestByteOrderMarksArePassedOver(t *testing.T) {
	for format, text := range map[string]string{
		CSV: "\"id\",\"name\"\r\n\"1\",\"x\"\r\n2,y\r\n", Lines: "1\n2\n", JSONArray: "[1,\n2]",
	} {
		plain, marked := all(t, format, text, 0), all(t, format, byteOrderMark+text, 0)
		require.Len(t, marked, 2, format)
		for i := range marked {
			require.Empty(t, marked[i].Bad)
			require.Equal(t, plain[i].Data, marked[i].Data, format)
			require.Equal(t, plain[i].End+3, marked[i].End, format)
		}
		rest := all(t, format, byteOrderMark+text, marked[0].End)
		require.Equal(t, marked[1:], rest, format)
	}
}

func all(t *testing.T, format, text string, from int64) (records []Record) {
	t.Helper()
	var header []string
	if format == CSV && from > 0 {
		var err error
		header, err = Header(strings.NewReader(text))
		require.NoError(t, err)
	}
	r, err := NewReader(format, strings.NewReader(text[from:]), from, header)
	require.NoError(t, err)
	for {
		record, err := r.Next()
		if err == io.EOF {
			return records
		}
		require.NoError(t, err)
		record.Data = []byte(string(record.Data))
		records = append(records, record)
	}
}

// A malformed row is told with its text, and one that takes in others with how many
// lines it has.
func TestMalformedRowsHaveTheirText(t *testing.T) {
	rows := all(t, CSV, "id,name\n1,x\na\"b,c\n3,z\n", 0)
	require.Len(t, rows, 3)
	require.Equal(t, "a\"b,c", string(rows[1].Data))
	require.NotEmpty(t, rows[1].Bad)
	require.Equal(t, `{"id":"3","name":"z"}`, string(rows[2].Data))

	rows = all(t, CSV, "id,name\n1,\"x\ny\"z\n3,z\n", 0)
	require.Len(t, rows, 2)
	require.Equal(t, "1,\"x\ny\"z", string(rows[0].Data))
	require.Contains(t, rows[0].Bad, "takes in 2 lines")
}

// A quote that is never closed costs its own line and none of the lines behind it, of
// which it tells how many it would take in.
func TestARowThatNeverEndsTakesNoOtherWithIt(t *testing.T) {
	for _, c := range []struct {
		text string
		bad  []string // the lines set aside
		good int
		says string
	}{
		{"id,name\n1,x\n2,\"y\n" + strings.Repeat("3,z\n", 5000), []string{`2,"y`}, 5001, "would take in 5001 lines"},
		{"id,name\n1,x\n\r\n\n2,\"y\r\n3,z\r\n", []string{`2,"y`}, 2, "would take in 2 lines"},
		{"id,name\n2,\"y\n3,z", []string{`2,"y`}, 1, "would take in 2 lines"},
		{"id,name\n2,\"y \"\"w\n3,z\"\"\n4,u", []string{`2,"y ""w`, `3,z""`}, 1, "would take in 3 lines"},
		{"id,name\n1,\"a\nb\",\"c\n3,z\n", []string{`1,"a`, `b","c`}, 1, "would take in 3 lines"},
		{"id,name\n2,y\n3,\"z\n", []string{`3,"z`}, 1, "quote"},
		{"id,name\n2,\"y\n" + strings.Repeat("3,"+strings.Repeat("z", 1<<20)+"\n", 30), []string{`2,"y`}, 30, "would take in more than 20 MiB"},
	} {
		var bad []string
		good := 0
		records := all(t, CSV, c.text, 0)
		for i, r := range records {
			if r.Bad == "" {
				good++
			} else {
				bad = append(bad, string(r.Data))
				require.EqualValues(t, len(r.Data), r.Size)
				if len(bad) == 1 {
					require.Contains(t, r.Bad, c.says)
				}
			}
			if i < 5 {
				require.Equal(t, len(records)-i-1, len(all(t, CSV, c.text, r.End)), "from where it ends the rest is read alike")
			}
		}
		require.Equal(t, c.bad, bad)
		require.Equal(t, c.good, good)
	}
}

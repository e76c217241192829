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

	open := "2,\"y\n" + strings.Repeat("3,z\n", 5000)
	rows = all(t, CSV, "id,name\n1,x\n"+open, 0)
	require.Len(t, rows, 2)
	require.Equal(t, strings.TrimRight(open, "\n"), string(rows[1].Data))
	require.Contains(t, rows[1].Bad, "takes in 5001 lines")
}

package objectrecords

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// told is a record as it was read, kept.
type told struct {
	data string
	size int64
	end  int64
	bad  string
}

// readAll reads a text from an offset to its end.
func readAll(format string, r io.Reader, offset int64, header []string) (all []told, err error) {
	reader, err := NewReader(format, r, offset, header)
	if err != nil {
		return nil, err
	}
	for {
		record, err := reader.Next()
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, told{string(record.Data), record.Size, record.End, record.Bad})
	}
}

func TestReader(t *testing.T) {
	long := strings.Repeat("n", 5000)
	for name, c := range map[string]struct {
		format, text string
		want         []string // "!" and the reason for a bad one
		fault        string   // of the format
	}{
		"lines":                               {Lines, "a\nb\n", []string{"a", "b"}, ""},
		"no newline at the end":               {Lines, "a\nb", []string{"a", "b"}, ""},
		"empty lines":                         {Lines, "\n\na\n\r\n\nb\n\n", []string{"a", "b"}, ""},
		"carriage returns":                    {Lines, "a\r\nb\r\r\nc\rd\n\r", []string{"a", "b\r", "c\rd"}, ""},
		"blanks are a record":                 {Lines, " \n", []string{" "}, ""},
		"nothing":                             {Lines, "", nil, ""},
		"array":                               {JSONArray, ` [ {"a":[1,"]"]} , "x\",]" ,2,null ] ` + "\n", []string{`{"a":[1,"]"]}`, `"x\",]"`, "2", "null"}, ""},
		"elements as they are written":        {JSONArray, "[{ \"a\" :\n1 }]", []string{"{ \"a\" :\n1 }"}, ""},
		"empty array":                         {JSONArray, "[\n]", nil, ""},
		"no array":                            {JSONArray, `{"a":1}`, nil, "a JSON array is expected"},
		"no text":                             {JSONArray, "", nil, "the array does not end"},
		"no end":                              {JSONArray, "[1,2", []string{"1"}, "the array does not end"},
		"no end within an element":            {JSONArray, `[1,{"a":"`, []string{"1"}, "the array does not end"},
		"more than an array":                  {JSONArray, "[1] 2", []string{"1"}, "goes on after"},
		"comma at the end":                    {JSONArray, "[1,]", []string{"1"}, "closes nothing"},
		"no comma":                            {JSONArray, "[1 2]", []string{"1"}, "a comma or the end"},
		"an element that is none":             {JSONArray, "[1,tru,2]", []string{"1", "!not a JSON value", "2"}, ""},
		"two elements in one":                 {JSONArray, `[{"a":1}{"b":2},3]`, []string{"!not a JSON value", "3"}, ""},
		"csv":                                 {CSV, "id,name\n1,x\n2,\"y, \"\"z\"\"\nw\"\n", []string{`{"id":"1","name":"x"}`, `{"id":"2","name":"y, \"z\"\nw"}`}, ""},
		"csv with a byte order mark":          {CSV, "\xef\xbb\xbfid\r\n7\r\n", []string{`{"id":"7"}`}, ""},
		"csv of a header only":                {CSV, "id,name\n", nil, ""},
		"csv of nothing":                      {CSV, "", nil, ""},
		"csv with a header that is none":      {CSV, "a,b\"c\n1,2\n", nil, "the header is not a row of CSV"},
		"csv with a long header":              {CSV, long + ",b\n1,2\n", []string{`{"` + long + `":"1","b":"2"}`}, ""},
		"csv rows of another length":          {CSV, "a,b\n1\n2,3\n4,5,6\n", []string{"!the row has 1 fields, the header 2", `{"a":"2","b":"3"}`, "!the row has 3 fields, the header 2"}, ""},
		"csv rows with a stray quote":         {CSV, "a,b\n1,x\"y\n2,3\n", []string{"!not a row of CSV", `{"a":"2","b":"3"}`}, ""},
		"csv rows that are not UTF-8":         {CSV, "a\ncaf\xe9\nb\n", []string{"!the row is not UTF-8", `{"a":"b"}`}, ""},
		"csv with a header that is not UTF-8": {CSV, "caf\xe9\nb\n", nil, "the header is not UTF-8"},
		"csv keeps what JSON escapes":         {CSV, "a<b>\n\"q\"\"\t\x7f\u2028é\"\n", []string{`{"a<b>":"q\"\t` + "\x7f" + `\u2028é"}`}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			for _, source := range []io.Reader{strings.NewReader(c.text), iotest.OneByteReader(strings.NewReader(c.text)), iotest.DataErrReader(strings.NewReader(c.text))} {
				all, err := readAll(c.format, source, 0, nil)
				if c.fault == "" {
					require.NoError(t, err)
				} else {
					var fault *FormatError
					require.ErrorAs(t, err, &fault)
					require.Contains(t, err.Error(), c.fault)
				}
				require.Len(t, all, len(c.want))
				for i, r := range all {
					if reason, bad := strings.CutPrefix(c.want[i], "!"); bad {
						require.Contains(t, r.bad, reason)
						continue
					}
					require.Empty(t, r.bad)
					require.Equal(t, c.want[i], r.data)
					require.EqualValues(t, len(r.data), r.size)
				}
			}
		})
	}
	_, err := NewReader("xml", strings.NewReader(""), 0, nil)
	require.ErrorContains(t, err, "there are lines, json-array and csv")
}

// TestReaderHoldsNoMoreThanARecordMay: of a longer record only the beginning is
// held, and its neighbours are read.
func TestReaderHoldsNoMoreThanARecordMay(t *testing.T) {
	for _, over := range []int{0, 1, 2, 3, readBuffer, MaxRecord} {
		long := strings.Repeat("x", MaxRecord+over)
		all, err := readAll(Lines, strings.NewReader("a\n"+long+"\r\nb"), 0, nil)
		require.NoError(t, err)
		require.Len(t, all, 3)
		require.LessOrEqual(t, len(all[1].data), MaxRecord+2)
		require.Equal(t, over == 0 || over == 1, len(all[1].data) == len(long) && all[1].size == int64(len(long)), "%d over", over)
		require.Equal(t, told{"b", 1, int64(2 + len(long) + 3), ""}, all[2])

		all, err = readAll(JSONArray, strings.NewReader(`[1,"`+long+`",2]`), 0, nil)
		require.NoError(t, err)
		require.Len(t, all, 3)
		require.EqualValues(t, len(long)+2, all[1].size)
		require.LessOrEqual(t, len(all[1].data), MaxRecord+1)
		require.Equal(t, "2", all[2].data)
	}
	_, err := readAll(CSV, io.MultiReader(strings.NewReader("a\n\""), endless{}), 0, nil)
	var fault *FormatError
	require.ErrorAs(t, err, &fault)
	require.Contains(t, err.Error(), "is a quote not closed?")
}

// endless is text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

// TestReaderGivesTheSourcesError: what can't be read is not the format's fault.
func TestReaderGivesTheSourcesError(t *testing.T) {
	broken := errors.New("broken")
	for format, text := range map[string]string{Lines: "a\nb", JSONArray: "[1,2", CSV: "a\n1\n2"} {
		all, err := readAll(format, io.MultiReader(strings.NewReader(text), iotest.ErrReader(broken)), 0, nil)
		require.ErrorIs(t, err, broken, format)
		require.Len(t, all, 1, "a record that may go on is not told")
	}
}

// drawText draws a text of a format and what a plain reader finds in it.
func drawText(t *rapid.T, format string) (text string, want []string) {
	switch format {
	case Lines:
		text = rapid.StringOfN(rapid.SampledFrom([]rune("ab{\"\r\n\n,é")), 0, 60, -1).Draw(t, "text")
		for line := range strings.SplitSeq(text, "\n") {
			if line = strings.TrimSuffix(line, "\r"); line != "" {
				want = append(want, line)
			}
		}
	case JSONArray:
		blank := rapid.SampledFrom([]string{"", " ", "\n", "\t\r\n"})
		element := rapid.SampledFrom([]string{"1", `"]"`, `"\\"`, `"\",["`, "null", `{"a":[1,{"b":"}"}]}`, `[[],{}]`, "-1.5e3", `"é"`})
		var b strings.Builder
		b.WriteString(blank.Draw(t, "blank") + "[" + blank.Draw(t, "blank"))
		want = rapid.SliceOfN(element, 0, 12).Draw(t, "elements")
		for i, e := range want {
			if i > 0 {
				b.WriteString(blank.Draw(t, "blank") + "," + blank.Draw(t, "blank"))
			}
			b.WriteString(e)
		}
		b.WriteString(blank.Draw(t, "blank") + "]" + blank.Draw(t, "blank"))
		text = b.String()
		var all []json.RawMessage
		require.NoError(t, json.Unmarshal([]byte(text), &all))
		require.Len(t, all, len(want))
	case CSV:
		field := rapid.StringOfN(rapid.SampledFrom([]rune("ab\"\n,é ")), 0, 8, -1)
		width := rapid.IntRange(2, 4).Draw(t, "width")
		var b bytes.Buffer
		w := csv.NewWriter(&b)
		header := []string{"h0", "h,1", "h\"2", "h 3"}[:width]
		require.NoError(t, w.Write(header))
		for range rapid.IntRange(0, 8).Draw(t, "rows") {
			row := rapid.SliceOfN(field, width, width).Draw(t, "row")
			require.NoError(t, w.Write(row))
			object := map[string]string{}
			for i, name := range header {
				object[name] = row[i]
			}
			encoded, err := json.Marshal(object)
			require.NoError(t, err)
			want = append(want, string(encoded))
		}
		w.Flush()
		text = b.String()
	}
	return text, want
}

// TestReaderAgreesWithAPlainOne: the same records as whole texts split by the
// standard library, whatever pieces the text comes in; and from where any record
// ends the rest is read alike.
func TestReaderAgreesWithAPlainOne(t *testing.T) {
	for _, format := range []string{Lines, JSONArray, CSV} {
		t.Run(format, rapid.MakeCheck(func(t *rapid.T) {
			text, want := drawText(t, format)
			all, err := readAll(format, iotest.HalfReader(strings.NewReader(text)), 0, nil)
			require.NoError(t, err)
			require.Len(t, all, len(want))
			for i, r := range all {
				require.Empty(t, r.bad)
				if format == CSV {
					require.JSONEq(t, want[i], r.data)
				} else {
					require.Equal(t, want[i], r.data)
				}
			}
			resumes(t, format, text, all)
		}))
	}
}

// resumes reads the text again from where each record ends.
func resumes(t require.TestingT, format, text string, all []told) {
	var header []string
	if format == CSV && len(all) > 0 {
		var err error
		header, err = Header(strings.NewReader(text))
		require.NoError(t, err)
	}
	last := int64(0)
	for i, r := range all {
		require.Greater(t, r.end, last)
		require.LessOrEqual(t, r.end, int64(len(text)))
		last = r.end
		rest, err := readAll(format, strings.NewReader(text[r.end:]), r.end, header)
		require.NoError(t, err)
		require.Equal(t, append([]told{}, all[i+1:]...), append([]told{}, rest...), "from %d", r.end)
	}
}

// FuzzReader: no text panics or hangs; what was read of one that is of its format
// can be gone on from.
func FuzzReader(f *testing.F) {
	for _, text := range []string{"a\n\r\nb", `[1,{"a":"]"} , null]`, "a,b\n1,\"x\n\"\"y\"\n2,\"", "[}", "[1]]", "\xef\xbb\xbfa\n\xff\n", "a\n\"b\"c\nd\n"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		for _, format := range []string{Lines, JSONArray, CSV} {
			all, err := readAll(format, strings.NewReader(text), 0, nil)
			var fault *FormatError
			if err != nil {
				require.ErrorAs(t, err, &fault)
				continue
			}
			resumes(t, format, text, all)
		}
	})
}

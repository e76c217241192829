package objectrecords

import (
	"bytes"
	"encoding/hex"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
)

func unhex(t *testing.T, text string) string {
	t.Helper()
	raw, err := hex.DecodeString(text)
	require.NoError(t, err)
	return string(raw)
}

// wide is a text in UTF-16, little endian or big.
func wide(text string, big bool) string {
	var b strings.Builder
	for _, c := range utf16.Encode([]rune(text)) {
		if big {
			b.Write([]byte{byte(c >> 8), byte(c)})
		} else {
			b.Write([]byte{byte(c), byte(c >> 8)})
		}
	}
	return b.String()
}

// refusedAs reads an object as an activity does, and expects it to be refused before
// the first record.
func refusedAs(t *testing.T, format, object, says string) {
	t.Helper()
	coding, whole, err := Recognise(strings.NewReader(object))
	require.NoError(t, err)
	text, err := Decode(coding, whole)
	require.NoError(t, err)
	_, err = NewReader(format, text, 0, nil)
	var fault *FormatError
	require.ErrorAs(t, err, &fault, "%s %q", format, object[:min(len(object), 20)])
	require.Contains(t, err.Error(), says)
}

// What is no text in UTF-8 is refused as what it is, not read as lines of noise, and
// so is what was compressed on top of it.
func TestOtherEncodingsAndCompressionsAreRefusedByName(t *testing.T) {
	random := make([]byte, 20000)
	source := rand.NewChaCha8([32]byte{})
	_, _ = source.Read(random)
	for name, c := range map[string]struct{ object, says string }{
		"utf-16 le":             {"\xff\xfe" + wide("id,name\n1,é\n", false), "UTF-16"},
		"utf-16 be":             {"\xfe\xff" + wide("id,name\n1,é\n", true), "UTF-16"},
		"utf-16 without a mark": {wide("id,name\n1,x\n", false), "UTF-16"},
		"utf-32":                {"\xff\xfe\x00\x00i\x00\x00\x00d\x00\x00\x00", "UTF-32"},
		"bzip2":                 {unhex(t, "425a68393141592653590d9a4f7b0000015180001040"), "bzip2"},
		"bzip2 of nothing":      {unhex(t, "425a683917724538509000000000"), "bzip2"},
		"xz":                    {unhex(t, "fd377a585a000004e6d6b446"), "xz"},
		"lz4":                   {unhex(t, "04224d186440a7"), "lz4"},
		"lzma":                  {unhex(t, "5d00008000ffffffffffffffff"), "lzma"},
		"snappy":                {unhex(t, "ff060000734e61507059"), "snappy"},
		"zip":                   {"PK\x03\x04\x14\x00\x00\x00", "zip"},
		"7z":                    {unhex(t, "377abcaf271c0004"), "7z"},
		"compress":              {unhex(t, "1f9d906100"), "compress"},
		"parquet":               {"PAR1\x15\x04\x15\x00", "Parquet"},
		"avro":                  {"Obj\x01\x04\x14avro.codec", "Avro"},
		"random bytes":          {"x" + string(random), "no text"},
		"few random bytes":      {"a\x05\x06\x07\x0e\xf0\xff\x9c", "no text"},
		"an image":              {"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "no text"},
	} {
		t.Run(name, func(t *testing.T) {
			for _, format := range []string{Lines, CSV, JSONArray} {
				refusedAs(t, format, c.object, c.says)
				for _, coding := range []string{Gzip, Zstd} {
					refusedAs(t, format, string(encode(t, coding, c.object, 1)), c.says)
				}
			}
		})
	}
	for _, coding := range []string{Gzip, Zstd} {
		once := encode(t, coding, "a\nb\n", 1)
		refusedAs(t, Lines, string(encode(t, coding, string(once), 1)), coding+" twice over")
	}
}

// Text is text whatever it begins with, and in whatever encoding keeps its lines.
func TestTextIsNotTakenForAnythingElse(t *testing.T) {
	for _, text := range []string{
		"", "a", "\n", "BZh9 is how bzip2 begins\n", "ORC and PAR1\n", "PAR1,x\n", "PK,name\n", "7z,name\n", "Rar!\n", "LZIP\n", "Obj,x\n",
		"naïve,日本語,🙂\n", "caf\xe9,\xa3 5\n", "\x93\xfa\x96\x7b\x8c\xea\n", // Latin-1, Shift JIS
		"a\x01b\x02c\n", "\x1e{\"a\":1}\n", "\x1b[31mred\x1b[0m\n", "a\x07\n", "tab\tand\fpage\v\b\n",
		strings.Repeat("a line\n", 5000) + "\x00\x00 later\n",
	} {
		records := all(t, Lines, text, 0)
		want := 0
		for line := range strings.SplitSeq(text, "\n") {
			if line != "" {
				want++
			}
		}
		require.Len(t, records, want, "%q", text[:min(len(text), 30)])
	}
}

// FuzzNotText: no beginning panics, printable ASCII is always text, and what is refused
// is refused with its reason whatever follows.
func FuzzNotText(f *testing.F) {
	for _, head := range []string{"", "BZh9", "PAR1", "\xff", "a\x00", "\x00a\x00b", "ORC\x7f\x7f\x7f"} {
		f.Add([]byte(head))
	}
	f.Fuzz(func(t *testing.T, head []byte) {
		_ = notText(head)
		printable := bytes.Map(func(r rune) rune {
			if r < ' ' || r > '~' {
				return ' '
			}
			return r
		}, head)
		require.Empty(t, notText(printable))
		r, err := NewReader(Lines, bytes.NewReader(head), 0, nil)
		if err == nil {
			for err == nil {
				_, err = r.Next()
			}
			require.ErrorIs(t, err, io.EOF)
			return
		}
		var fault *FormatError
		require.ErrorAs(t, err, &fault)
	})
}

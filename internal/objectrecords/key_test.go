package objectrecords

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestKey(t *testing.T) {
	for _, c := range []struct{ key, record, want, bad string }{
		{"`one`", "anything", "one", ""},
		{"`\"one\"`", "anything", "one", ""},
		{"a", `{"a":"x"}`, "x", ""},
		{"a.b[0]", `{"a":{"b":["y"]}}`, "y", ""},
		{"a", `{"a":12345678901234567890123}`, "12345678901234567890123", ""},
		{"a", `{"a":1.50}`, "1.50", ""},
		{"a", `{"a":true}`, "true", ""},
		{"length(a)", `{"a":[1,2]}`, "2", ""},
		{"join('-', [a, b])", `{"a":"x","b":"y"}`, "x-y", ""},
		{"a", ` {"a":"x"} ` + "\n", "x", ""},
		{"a", `{"a":null}`, "", "finds no text and no number"},
		{"a", `{}`, "", "finds no text and no number"},
		{"a", `{"a":{}}`, "", "finds no text and no number"},
		{"a", `not JSON`, "", "which the record is not"},
		{"a", `{"a":"x"}}`, "", "which the record is not"},
		{"a", `{"a":"x"} {"a":"y"}`, "", "which the record is not"},
		{"abs(a)", `{"a":"x"}`, "", "abs"},
		{"a", `{"a":"x\ud800"}`, "", "half a character"},
		{"a", `{"a":"\udc00\ud800"}`, "", "half a character"},
		{"a", `{"a":"x` + "\xff" + `"}`, "", "half a character"},
		{"a", `{"a":"\ud83d\ude00\\ud800"}`, "\U0001F600\\ud800", ""},
		{"a", `{"a":"\ufffd"}`, "\ufffd", ""},
		{"a", `{"a":"x","b":"\ud800"}`, "x", ""},
	} {
		key, err := NewKey(c.key)
		require.NoError(t, err, c.key)
		got, bad := key.Of([]byte(c.record))
		if c.bad != "" {
			require.Contains(t, bad, c.bad, "%s of %s", c.key, c.record)
			continue
		}
		require.Empty(t, bad, "%s of %s", c.key, c.record)
		require.Equal(t, c.want, got)
	}
	for _, text := range []string{"``", "`\"\"`", "`\"\\ud800\"`", "a.", "[", "a b"} {
		_, err := NewKey(text)
		require.Error(t, err, text)
	}
}

func TestKeyOfNothingIsAHashOfTheRecord(t *testing.T) {
	key, err := NewKey("")
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, record := range []string{"", "a", "b", "ab"} {
		first, bad := key.Of([]byte(record))
		require.Empty(t, bad)
		again, _ := key.Of([]byte(record))
		require.Equal(t, first, again)
		require.Len(t, first, 16)
		seen[first] = true
	}
	require.Len(t, seen, 4)
}

// FuzzKey: no expression and no record panics, and a key is text.
func FuzzKey(f *testing.F) {
	f.Add("a.b", `{"a":{"b":1}}`)
	f.Add("sort_by(@, &a)[0].a", `[{"a":2},{"a":1}]`)
	f.Add("@[::0]", `[1]`)
	f.Add("max(@)", `[1,"2"]`)
	f.Fuzz(func(t *testing.T, text, record string) {
		key, err := NewKey(text)
		if err != nil {
			return
		}
		got, bad := key.Of([]byte(record))
		if bad == "" && utf8.ValidString(text) && utf8.ValidString(record) {
			require.True(t, utf8.ValidString(got))
		}
	})
}

// TestEnvelopeKeepsEveryRecord: one line of JSON, from which the record comes
// back as it was.
func TestEnvelopeKeepsEveryRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run, bucket, key := rapid.String().Draw(t, "run"), "b", rapid.String().Draw(t, "key")
		n := rapid.Int64Min(0).Draw(t, "n")
		data := rapid.OneOf(
			rapid.SliceOf(rapid.Byte()),
			rapid.Map(rapid.String(), func(s string) []byte { return []byte(s) }),
			rapid.SampledFrom([][]byte{[]byte(`{"a": 1}`), []byte("{\n\"a\":\r\n\"\xff\"}"), []byte(`"x"`), []byte(" 7 "), []byte("[\n]"), {}}),
		).Draw(t, "data")
		line := NewEnvelope(run, bucket, key).Append([]byte("before"), n, data)
		line = line[len("before"):]
		require.Equal(t, len(line)-1, strings.IndexByte(string(line), '\n'), "one line")
		var e struct {
			ID     string
			Data   json.RawMessage
			Base64 *string
		}
		require.NoError(t, json.Unmarshal(line, &e))
		require.Equal(t, strings.ToValidUTF8(run+"/"+bucket+"/"+key, "\uFFFD")+"#"+json.Number(jsonOf(n)).String(), e.ID)
		switch {
		case e.Base64 != nil:
			decoded, err := base64.StdEncoding.DecodeString(*e.Base64)
			require.NoError(t, err)
			require.Equal(t, string(data), string(decoded))
		case json.Valid(data):
			require.JSONEq(t, string(data), string(e.Data))
		default:
			var text string
			require.NoError(t, json.Unmarshal(e.Data, &text))
			require.Equal(t, string(data), text)
		}
		require.True(t, utf8.Valid(line))
	})
}

func jsonOf(n int64) string {
	text, _ := json.Marshal(n) // a number always has a JSON form
	return string(text)
}

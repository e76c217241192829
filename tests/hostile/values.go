package hostile

import (
	"bytes"
	"strings"
)

// texts are what strings are made of that break what was not written for them.
var texts = []string{
	``, ` `, `\u0000`, `\ud800`, `\udfff\ud800`, `\ufeff`, `\u202e`, `\n`, `\r\n`, `\t`, `\\`, `\"`, `/`, `../../etc/passwd`, `%00`, `%s%n%d`, `${x}`, `{{.}}`,
	`' OR 1=1 --`, "`", `__temporal_x`, `temporal-sys-history`, `-1`, `1e999`, `NaN`, `Infinity`, `null`, `true`, `9999999999999h`, `-1s`, `1`, `1d`, `1h1h1h`, `0.000000001ns`,
	`2026-13-45T99:99:99Z`, `9999-12-31T23:59:59.999999999Z`, `0000-01-01T00:00:00Z`, `http://user:pass@127.0.0.1/`, `http://[::1`, `://`, `https://127.0.0.1:1/x`, `arn:aws:kinesis:::stream/`,
	`arn:::::`, `\u00e9`, `e\u0301`, `😀`, `jobs.*`, `keys(@)`, `@`, `a.b.c[0]`, `[*]`, `((((((`, `sum([1,'a'])`, `#`, `task/a/1/run`, `throughput/`, "\x7f",
}

// scalars are values of other kinds.
var scalars = []string{
	`null`, `true`, `false`, `0`, `-0`, `-1`, `1`, `1.0`, `1.5`, `1e0`, `1E400`, `-1E400`, `1e-400`, `9223372036854775807`, `9223372036854775808`, `-9223372036854775809`, `2147483648`,
	`18446744073709551616`, `0.1`, `1e308`, `123456789012345678901234567890`, `[]`, `{}`, `[[]]`, `[null]`, `{"a":null}`, `{"$from":"jobs.*"}`, `{"$from":1}`, `{"$from":"args","x":1}`, `{"$literal":{"$from":"a"}}`,
	`{"s3":{}}`, `["a","a","a"]`,
}

// anything is a value that knows no schema.
func (g *Generator) anything() string {
	switch n := g.IntN(100); {
	case n < 45:
		return pick(g, scalars)
	case n < 85:
		return `"` + pick(g, texts) + `"`
	case n < 90:
		return `"` + strings.Repeat(pick(g, []string{"x", "é", "\\u0001", "%"}), 1<<pick(g, []int{8, 10, 12, 16})) + `"`
	case n < 93:
		return `"` + strings.Repeat("x", 1<<pick(g, []int{18, 20})) + `"`
	case n < 96:
		depth := pick(g, []int{60, 1_000, 9_000})
		return strings.Repeat(`[`, depth) + strings.Repeat(`]`, depth)
	case n < 98:
		depth := pick(g, []int{60, 1_000, 9_000})
		return strings.Repeat(`{"a":`, depth) + `1` + strings.Repeat(`}`, depth)
	default:
		return `[` + strings.TrimSuffix(strings.Repeat(pick(g, []string{`1,`, `"a",`, `{},`, `null,`}), 20_000), ",") + `]`
	}
}

// spoil makes a text of a document that is no JSON, or only just.
func (g *Generator) spoil(doc []byte) []byte {
	at := g.IntN(len(doc) + 1)
	put := func(what string) []byte { return bytes.Join([][]byte{doc[:at], doc[at:]}, []byte(what)) }
	inString := func(what string) []byte { return bytes.Replace(doc, []byte(`":"`), []byte(`":"`+what), 1) }
	switch g.IntN(14) {
	case 0:
		return doc[:at]
	case 1:
		return put("\x00")
	case 2:
		return inString("\xff\xfe")
	case 3:
		return inString("\xc3")
	case 4:
		return inString("\xed\xa0\x80") // half a surrogate pair
	case 5:
		return append([]byte("\xef\xbb\xbf"), doc...)
	case 6:
		return append(bytes.Clone(doc), doc...)
	case 7:
		return bytes.Replace(doc, []byte(`":`), []byte(`":NaN,"x":`), 1)
	case 8:
		return bytes.Replace(doc, []byte(`":`), []byte(`":-Infinity,"x":`), 1)
	case 9:
		return put("/* x */")
	case 10:
		return nil
	case 11:
		return []byte(pick(g, []string{"null", "[]", `""`, "0", "true", "{", "}", "nul", "\"\xff\"", strings.Repeat("[", 200_000), strings.Repeat(`{"a":`, 50_000)}))
	case 12:
		return bytes.ReplaceAll(doc, []byte(`"`), []byte(`'`))
	default:
		return inString("\xf5\x80\x80\x80")
	}
}

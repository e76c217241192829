package secret

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"strings"
)

// Forms is how a text may be written within another: as it is, in base64 wherever in
// what was encoded it stood, in hexadecimal, escaped for a URL or a JSON string. A
// service that echoes a whole request encodes its header as a part of more.
func Forms(text string) []string {
	forms := []string{
		text,
		base64.StdEncoding.EncodeToString([]byte(text)), base64.RawStdEncoding.EncodeToString([]byte(text)),
		base64.URLEncoding.EncodeToString([]byte(text)), base64.RawURLEncoding.EncodeToString([]byte(text)),
		hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))),
		url.QueryEscape(text), url.PathEscape(text), lowerEscapes(url.QueryEscape(text)), lowerEscapes(url.PathEscape(text)),
	}
	for offset := range 3 {
		inner := within(base64.RawStdEncoding, text, offset)
		forms = append(forms, inner, strings.NewReplacer("+", "-", "/", "_").Replace(inner))
	}
	if quoted, err := json.Marshal(text); err == nil {
		escaped := string(quoted[1 : len(quoted)-1])
		forms = append(forms, escaped, strings.ReplaceAll(escaped, "/", `\/`), strings.ReplaceAll(text, "/", `\/`), strings.ReplaceAll(text, `"`, `\"`))
	}
	return forms
}

// within is what of a text in base64 is the same whatever stands around it, where it
// begins offset bytes behind a multiple of three.
func within(encoding *base64.Encoding, text string, offset int) string {
	encoded := encoding.EncodeToString(append(make([]byte, offset), text...))
	first := (offset*8 + 5) / 6           // characters that have bits of what stands before
	whole := (offset + len(text)) * 8 / 6 // and that have none of what stands behind
	return encoded[min(first, whole):whole]
}

// lowerEscapes is an escaped text whose hexadecimal digits are small.
func lowerEscapes(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:i+3], strings.ToLower(string(b[i+1:i+3])))
		}
	}
	return string(b)
}

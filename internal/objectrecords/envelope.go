package objectrecords

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strconv"
	"unicode/utf8"
)

// An Envelope gives each record of an object an id by which its readers drop
// repeats: {"id":"<run>/<bucket>/<key>#<n>","data":…} and a newline. Data that is
// JSON stands as it is, other text becomes a string; bytes that are no text go
// into "base64" in place of "data".
type Envelope struct{ head []byte }

// NewEnvelope makes the envelope for the records of one object.
func NewEnvelope(run, bucket, key string) Envelope {
	head := appendQuoted([]byte(`{"id":`), run+"/"+bucket+"/"+key+"#")
	return Envelope{head[:len(head)-1]} // the number goes before the closing quote
}

// Append appends record number n.
func (e Envelope) Append(dst []byte, n int64, data []byte) []byte {
	dst = append(dst, e.head...)
	dst = strconv.AppendInt(dst, n, 10)
	isText := utf8.Valid(data)
	switch {
	case isText && json.Valid(data):
		dst = append(dst, `","data":`...)
		dst = appendCompact(dst, data)
	case isText:
		dst = appendQuoted(append(dst, `","data":`...), string(data))
	default:
		dst = base64.StdEncoding.AppendEncode(append(dst, `","base64":"`...), data)
		dst = append(dst, '"')
	}
	return append(dst, "}\n"...)
}

// appendCompact appends JSON without line breaks, since a newline ends the
// envelope.
func appendCompact(dst, data []byte) []byte {
	data = bytes.TrimSpace(data)
	if bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
		return append(dst, data...)
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, data) // data was found valid
	return append(dst, compact.Bytes()...)
}

// appendQuoted appends a JSON string; the usual text has nothing to escape.
func appendQuoted(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, _ := json.Marshal(s) // a string always has a JSON form
			return append(dst, quoted...)
		}
	}
	return append(append(append(dst, '"'), s...), '"')
}

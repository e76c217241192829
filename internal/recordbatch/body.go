package recordbatch

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
)

// AppendBody appends the body of the PutRecords request as the service's JSON
// protocol has it. Of name and arn, which name the stream, one may be empty.
func (r *Request) AppendBody(dst []byte, name, arn string) []byte {
	dst = append(slices.Grow(dst, r.bodySize()+len(name)+len(arn)+64), '{')
	if arn != "" {
		dst = append(appendString(append(dst, `"StreamARN":`...), arn), ',')
	}
	if name != "" {
		dst = append(appendString(append(dst, `"StreamName":`...), name), ',')
	}
	dst = append(dst, `"Records":[`...)
	for i, it := range r.Items {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, `{"Data":"`...)
		dst = appendBase64(dst, it.Data)
		dst = appendString(append(dst, `","PartitionKey":`...), it.Key)
		if it.HashKey != "" {
			dst = appendString(append(dst, `,"ExplicitHashKey":`...), it.HashKey)
		}
		dst = append(dst, '}')
	}
	return append(dst, "]}"...)
}

// bodySize is about how large the records are in the body. It also touches all
// memory that the body is made of: loads that do not depend on each other overlap,
// where encoding would wait for each record's in turn.
func (r *Request) bodySize() int {
	const frame = len(`{"Data":"","PartitionKey":"","ExplicitHashKey":""},`)
	const line = 64
	size := 0
	for _, it := range r.Items {
		size += base64.StdEncoding.EncodedLen(len(it.Data)) + len(it.Key) + len(it.HashKey) + frame
		for at := 0; at < len(it.Data); at += line {
			r.touched ^= it.Data[at]
		}
	}
	return size
}

// appendString appends a JSON string. The usual text has nothing to escape.
func appendString(dst []byte, s string) []byte {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c == '"' || c == '\\' || c >= 0x7f {
			quoted, _ := json.Marshal(s) // a string always has a JSON form
			return append(dst, quoted...)
		}
	}
	dst = append(dst, '"')
	dst = append(dst, s...)
	return append(dst, '"')
}

// pairs has the two base64 characters of each 12 bits, the first in the low
// byte. Looking up pairs takes half the time of the standard encoder, which is
// most of what a request's body costs.
var pairs = func() (table [1 << 12]uint16) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range table {
		table[i] = uint16(alphabet[i>>6]) | uint16(alphabet[i&63])<<8
	}
	return table
}()

// appendBase64 appends data in standard base64 with padding.
func appendBase64(dst, data []byte) []byte {
	from, length := len(dst), (len(data)+2)/3*4
	dst = slices.Grow(dst, length)[:from+length]
	out := dst[from:]
	// Six bytes at a time, of eight that are loaded.
	for len(data) >= 8 && len(out) >= 8 {
		bits := binary.BigEndian.Uint64(data)
		binary.LittleEndian.PutUint64(out, uint64(pairs[bits>>52])|uint64(pairs[bits>>40&0xfff])<<16|
			uint64(pairs[bits>>28&0xfff])<<32|uint64(pairs[bits>>16&0xfff])<<48)
		data, out = data[6:], out[8:]
	}
	base64.StdEncoding.Encode(out, data)
	return dst
}

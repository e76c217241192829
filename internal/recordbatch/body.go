package recordbatch

import (
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"slices"
)

// An Encoder writes the bodies of PutRecords requests. Its memory is used again.
type Encoder struct {
	aggregate []byte
	keys      keyTable
	touched   int // keeps the loads of touch
}

// each calls visit for every record of the service's: with its number, what decides
// over its shard, and its data.
func (e *Encoder) each(r *Request, visit func(record int, it *Item, data []byte)) {
	ahead := 0
	r.each(func(record, from, to int) {
		if to > ahead {
			ahead = min(max(to, from+touchedItems), len(r.Items))
			e.touch(r.Items[from:ahead])
		}
		visit(record, &r.Items[from], e.data(r.Items[from:to]))
	})
}

// data is what the service's record holds of these items.
func (e *Encoder) data(items []Item) []byte {
	if len(items) == 1 {
		return items[0].Data
	}
	e.aggregate = appendAggregate(e.aggregate[:0], items, &e.keys)
	return e.aggregate
}

const (
	// touchedItems are touched before they are encoded.
	touchedItems = 32
	// cacheLine is how much memory a load brings along.
	cacheLine = 64
)

// touch loads the memory of some items: loads that do not depend on each other
// overlap, where encoding would wait for each record's in turn.
func (e *Encoder) touch(items []Item) {
	touched := 0
	for i := range items {
		touched += len(items[i].Key)
	}
	for i := range items {
		data, key := items[i].Data, items[i].Key
		for at := 0; at < len(data); at += cacheLine {
			touched += int(data[at])
		}
		if len(key) > 0 {
			touched += int(key[0])
		}
	}
	e.touched = touched
}

// AppendJSON appends a request's body as the service's JSON protocol has it. Of
// name and arn, which name the stream, one may be empty.
func (e *Encoder) AppendJSON(dst []byte, r *Request, name, arn string) []byte {
	dst = append(slices.Grow(dst, r.BodySize()), '{')
	if arn != "" {
		dst = append(appendString(append(dst, `"StreamARN":`...), arn), ',')
	}
	if name != "" {
		dst = append(appendString(append(dst, `"StreamName":`...), name), ',')
	}
	dst = append(dst, `"Records":[`...)
	e.each(r, func(record int, it *Item, data []byte) {
		if record > 0 {
			dst = append(dst, ',')
		}
		dst = appendBase64(append(dst, `{"Data":"`...), data)
		dst = appendString(append(dst, `","PartitionKey":`...), it.Key)
		if it.HashKey != "" {
			dst = appendString(append(dst, `,"ExplicitHashKey":`...), it.HashKey)
		}
		dst = append(dst, '}')
	})
	return append(dst, "]}"...)
}

// BodySize is about how large the records are in the body, and hardly less.
func (r *Request) BodySize() int {
	const frame = len(`{"Data":"","PartitionKey":"","ExplicitHashKey":""},`)
	return base64.StdEncoding.EncodedLen(r.Bytes) + len(r.Items)*(frame+maxHashKey) + names
}

const (
	// maxHashKey is how many digits an explicit hash key may have.
	maxHashKey = 39
	// names is room for a stream's name and ARN, and for what is around the records.
	names = 512
)

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

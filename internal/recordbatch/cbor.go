package recordbatch

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// The part of CBOR (RFC 8949) that the service's second protocol uses: it spares
// the base64 of the data, on both sides and on the way.

// Major types, in the upper three bits of an item's first byte.
const (
	cborUint   = 0 << 5
	cborBytes  = 2 << 5
	cborText   = 3 << 5
	cborArray  = 4 << 5
	cborMap    = 5 << 5
	cborTag    = 6 << 5
	cborSimple = 7 << 5

	cborBreak      = 0xff
	cborIndefinite = 31
)

// isCBOR says that an answer begins as one in CBOR: with a map, tagged or not.
func isCBOR(first byte) bool { return first&0xe0 == cborMap || first&0xe0 == cborTag }

// appendHead appends the head of an item of a major type.
func appendHead(dst []byte, major byte, n int) []byte {
	switch {
	case n < 24:
		return append(dst, major|byte(n))
	case n < 1<<8:
		return append(dst, major|24, byte(n))
	case n < 1<<16:
		return append(dst, major|25, byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(dst, major|26), uint32(n))
}

func appendText(dst []byte, s string) []byte { return append(appendHead(dst, cborText, len(s)), s...) }

// Names of fields, as they are written.
var (
	textData    = string(appendText(nil, "Data"))
	textKey     = string(appendText(nil, "PartitionKey"))
	textHashKey = string(appendText(nil, "ExplicitHashKey"))
)

// AppendCBOR appends a request's body as the service's CBOR protocol has it. Of name
// and arn one may be empty.
func (e *Encoder) AppendCBOR(dst []byte, r *Request, name, arn string) []byte {
	dst = slices.Grow(dst, r.BodySize())
	fields := 1
	if arn != "" {
		fields++
	}
	if name != "" {
		fields++
	}
	dst = appendHead(dst, cborMap, fields)
	if arn != "" {
		dst = appendText(appendText(dst, "StreamARN"), arn)
	}
	if name != "" {
		dst = appendText(appendText(dst, "StreamName"), name)
	}
	dst = appendHead(appendText(dst, "Records"), cborArray, r.Records())
	e.each(r, func(_ int, it *Item, data []byte) {
		fields := 2
		if it.HashKey != "" {
			fields++
		}
		dst = append(appendHead(dst, cborMap, fields), textData...)
		dst = append(appendHead(dst, cborBytes, len(data)), data...)
		dst = appendText(append(dst, textKey...), it.Key)
		if it.HashKey != "" {
			dst = appendText(append(dst, textHashKey...), it.HashKey)
		}
	})
	return dst
}

// cborScanner walks over CBOR without building it.
type cborScanner struct {
	data []byte
	at   int
}

// deepest bounds how deep items may lie in one another.
const deepest = 32

// head reads an item's head: its major type and its number, or -1 where its end is
// marked by a break. Tags are passed over.
func (s *cborScanner) head() (major byte, n int, err error) {
	for range deepest {
		if s.at >= len(s.data) {
			return 0, 0, errAnswer
		}
		first := s.data[s.at]
		s.at++
		if n, err = s.number(first & 0x1f); err != nil {
			return 0, 0, err
		}
		if major = first & 0xe0; major != cborTag {
			return major, n, nil
		}
	}
	return 0, 0, errAnswer
}

// number reads the number of a head. One that no length can be counts as none.
func (s *cborScanner) number(info byte) (int, error) {
	switch {
	case info < 24:
		return int(info), nil
	case info == cborIndefinite:
		return -1, nil
	case info > 27:
		return 0, errAnswer
	}
	size := 1 << (info - 24)
	if len(s.data)-s.at < size {
		return 0, errAnswer
	}
	var n uint64
	for _, b := range s.data[s.at : s.at+size] {
		n = n<<8 | uint64(b)
	}
	s.at += size
	return int(min(n, 1<<40)), nil
}

// atBreak passes over a break, if one is next.
func (s *cborScanner) atBreak() bool {
	if s.at < len(s.data) && s.data[s.at] == cborBreak {
		s.at++
		return true
	}
	return false
}

// list calls element for each of n items, or until a break where n is -1.
func (s *cborScanner) list(n int, element func() error) error {
	for i := 0; n < 0 || i < n; i++ {
		if n < 0 && s.atBreak() {
			return nil
		}
		if err := element(); err != nil {
			return err
		}
	}
	return nil
}

// object calls field for each name, which must pass over the value.
func (s *cborScanner) object(field func(name []byte) error) error {
	major, n, err := s.head()
	if err != nil || major != cborMap {
		return errAnswer
	}
	return s.list(n, func() error {
		name, err := s.text()
		if err != nil {
			return err
		}
		return field(name)
	})
}

func (s *cborScanner) array(element func() error) error {
	major, n, err := s.head()
	if err != nil || major != cborArray {
		return errAnswer
	}
	return s.list(n, element)
}

// text reads a string; null and anything else are an empty one.
func (s *cborScanner) text() ([]byte, error) {
	start := s.at
	major, n, err := s.head()
	if err != nil {
		return nil, err
	}
	if major != cborText {
		s.at = start
		return nil, s.skip(0)
	}
	if n >= 0 {
		return s.bytes(n)
	}
	var whole []byte
	for !s.atBreak() {
		part, err := s.chunk(cborText)
		if err != nil {
			return nil, err
		}
		whole = append(whole, part...)
	}
	return whole, nil
}

// chunk reads a part of a string without a length.
func (s *cborScanner) chunk(kind byte) ([]byte, error) {
	major, n, err := s.head()
	if err != nil || major != kind || n < 0 {
		return nil, errAnswer
	}
	return s.bytes(n)
}

func (s *cborScanner) bytes(n int) ([]byte, error) {
	if n > len(s.data)-s.at {
		return nil, errAnswer
	}
	s.at += n
	return s.data[s.at-n : s.at], nil
}

// count reads a number that is not negative; anything else is -1.
func (s *cborScanner) count() (int, error) {
	start := s.at
	if major, n, err := s.head(); err != nil || major == cborUint {
		return n, err
	}
	s.at = start
	return -1, s.skip(0)
}

// skip moves behind an item of any kind.
func (s *cborScanner) skip(depth int) error {
	if depth > deepest {
		return errAnswer
	}
	major, n, err := s.head()
	if err != nil {
		return err
	}
	next := func() error { return s.skip(depth + 1) }
	switch major {
	case cborBytes, cborText:
		if n < 0 {
			return s.list(n, func() error { _, err := s.chunk(major); return err })
		}
		_, err := s.bytes(n)
		return err
	case cborArray:
		return s.list(n, next)
	case cborMap:
		return s.list(n, func() error {
			if err := next(); err != nil {
				return err
			}
			return next()
		})
	case cborSimple:
		if n < 0 {
			return errAnswer // a break that ends nothing
		}
	}
	return nil
}

func (a *answer) readCBOR(body []byte) error {
	s := cborScanner{data: body}
	err := s.object(func(name []byte) (err error) {
		switch string(name) {
		case "FailedRecordCount":
			a.failures, err = s.count()
			return err
		case "Records":
			return s.array(func() error { return a.entryCBOR(&s) })
		}
		return s.skip(0)
	})
	if err == nil && s.at != len(body) {
		err = errAnswer
	}
	return err
}

func (a *answer) entryCBOR(s *cborScanner) error {
	if n := a.alike(s.data[s.at:]); n > 0 {
		s.at += n
		return nil
	}
	start := s.at
	err := s.object(func(name []byte) error {
		switch string(name) {
		case "SequenceNumber", "ShardId", "ErrorCode", "ErrorMessage":
			text, err := s.text()
			a.field(name, text)
			return err
		}
		return s.skip(0)
	})
	if err == nil {
		a.entry(s.data[start:s.at])
	}
	return err
}

// CBORError reads the code and message of an error that the service answered in
// CBOR.
func CBORError(body []byte) (code, message string, err error) {
	s := cborScanner{data: body}
	err = s.object(func(name []byte) error {
		switch string(name) {
		case "__type", "code", "Code", "message", "Message":
			text, err := s.text()
			if !utf8.Valid(text) {
				return errAnswer
			}
			if c := name[0]; c == 'm' || c == 'M' {
				message = string(text)
			} else {
				code = string(text)
			}
			return err
		}
		return s.skip(0)
	})
	return code, message, err
}

package objectrecords

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// Formats of objects.
const (
	Lines     = "lines"
	JSONArray = "json-array"
	CSV       = "csv"
)

// MaxRecord bounds what is held of a record, which is what a stream takes at
// most. Of a longer one only the beginning is told.
const MaxRecord = 10 << 20

// A Record is one record of an object.
type Record struct {
	// Data is valid until the next record is read.
	Data []byte
	// Size is the record's whole length, more than Data has when it is too long.
	Size int64
	// End is where the record ends in the decoded text; reading may go on there.
	End int64
	// Bad says why the record is not one, in words; "" for a good one.
	Bad string
}

// A Reader reads records until io.EOF. A [FormatError] says that the text as a
// whole is not of its format; other errors are the source's.
type Reader interface {
	Next() (Record, error)
}

// A FormatError says at which byte of the decoded text the format breaks.
type FormatError struct {
	Offset  int64
	Message string
}

func (e *FormatError) Error() string { return fmt.Sprintf("at byte %d: %s", e.Offset, e.Message) }

// NewReader reads decoded text of a format from offset on, where an earlier
// reader ended a record (0: from the beginning). CSV needs its header then,
// which Header reads.
func NewReader(format string, r io.Reader, offset int64, header []string) (Reader, error) {
	if offset > 0 {
		return newReader(format, r, offset, header)
	}
	text, mark, err := behindMark(r)
	if err != nil {
		return nil, err
	}
	head, _ := text.Peek(headBytes) // an error comes again once what was read before it is read
	if why := notText(head); why != "" {
		return nil, &FormatError{Message: why}
	}
	reader, err := newReader(format, text, 0, nil)
	if err != nil || mark == 0 {
		return reader, err
	}
	return &behind{reader, mark}, nil
}

func newReader(format string, r io.Reader, offset int64, header []string) (Reader, error) {
	switch format {
	case Lines:
		return newLines(r, offset), nil
	case JSONArray:
		return newArray(r, offset), nil
	case CSV:
		return newRows(r, offset, header)
	}
	return nil, fmt.Errorf("no format %q; there are lines, json-array and csv", format)
}

// byteOrderMark is what some programs begin a text of UTF-8 with.
const byteOrderMark = "\xef\xbb\xbf"

// behindMark passes over a byte order mark and tells how long it is.
func behindMark(r io.Reader) (text *bufio.Reader, length int64, err error) {
	b := bufio.NewReaderSize(r, headBytes)
	head, err := b.Peek(len(byteOrderMark))
	if err != nil && err != io.EOF {
		return nil, 0, err
	}
	if string(head) != byteOrderMark {
		return b, 0, nil
	}
	n, err := b.Discard(len(byteOrderMark))
	return b, int64(n), err
}

// behind reads a text that begins so many bytes behind the object's.
type behind struct {
	Reader
	by int64
}

func (b *behind) Next() (Record, error) {
	record, err := b.Reader.Next()
	record.End += b.by
	return record, err
}

var errTooLong = errors.New("the record is too long")

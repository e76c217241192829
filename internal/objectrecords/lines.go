package objectrecords

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const readBuffer = 256 << 10

// keptBytes is how much memory is kept for a long record, so that many of them don't
// take it anew each time; a longer one's is let go.
const keptBytes = 4 << 20

// lines reads records that end with a newline, or with the text. Empty lines
// are skipped; a carriage return before the newline belongs to it.
type lines struct {
	r      *bufio.Reader
	offset int64
	long   []byte // a line that is longer than the buffer
}

func newLines(r io.Reader, offset int64) *lines {
	return &lines{r: bufio.NewReaderSize(r, readBuffer), offset: offset}
}

func (l *lines) Next() (Record, error) {
	for {
		line, size, err := l.line()
		if err != nil && (err != io.EOF || size == 0) {
			return Record{}, err
		}
		l.offset += size
		whole := int64(len(line)) == size
		if n := len(line); n > 0 && whole && line[n-1] == '\n' {
			line = line[:n-1]
			size--
		}
		if n := len(line); n > 0 && whole && line[n-1] == '\r' {
			line = line[:n-1]
			size--
		}
		if len(line) > 0 {
			return Record{Data: line, Size: size, End: l.offset}, nil
		}
	}
}

// line reads up to and with the next newline. Beyond MaxRecord it only counts.
func (l *lines) line() ([]byte, int64, error) {
	part, err := l.r.ReadSlice('\n')
	if !errors.Is(err, bufio.ErrBufferFull) {
		return part, int64(len(part)), err
	}
	l.long = l.long[:0]
	size := int64(0)
	for {
		size += int64(len(part))
		// One byte more than a record may have, for the newline.
		l.long = append(l.long, part[:min(len(part), MaxRecord+2-len(l.long))]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = l.r.ReadSlice('\n')
	}
	line := l.long
	if cap(l.long) > keptBytes {
		l.long = nil // one long line must not hold memory for the rest
	}
	if size > int64(len(line)) && bytes.HasSuffix(part, []byte{'\n'}) {
		size-- // the newline, which is not in the part kept
		l.offset++
	}
	return line, size, err
}

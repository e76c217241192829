package objectrecords

import (
	"bufio"
	"encoding/json"
	"io"
)

// array reads the elements of one JSON array, as they are written.
type array struct {
	r       *bufio.Reader
	offset  int64
	started bool // an element was read, here or by an earlier reader
	opened  bool // the bracket was read
	ended   bool
	element []byte
	size    int64
}

func newArray(r io.Reader, offset int64) *array {
	return &array{r: bufio.NewReaderSize(r, readBuffer), offset: offset, opened: offset > 0, started: offset > 0}
}

func (a *array) Next() (Record, error) {
	if a.ended {
		return Record{}, io.EOF
	}
	c, err := a.token()
	if err != nil {
		return Record{}, err
	}
	if !a.opened {
		if c != '[' {
			return Record{}, a.broken("a JSON array is expected")
		}
		a.opened = true
		if c, err = a.token(); err != nil {
			return Record{}, err
		}
	}
	if c == ']' {
		return Record{}, a.end()
	}
	if a.started {
		if c != ',' {
			return Record{}, a.broken("a comma or the end of the array is expected")
		}
		if c, err = a.token(); err != nil {
			return Record{}, err
		}
	}
	a.started = true
	if err := a.value(c); err != nil {
		return Record{}, err
	}
	record := Record{Data: a.element, Size: a.size, End: a.offset}
	if a.size <= MaxRecord && !json.Valid(a.element) {
		record.Bad = "not a JSON value"
	}
	if cap(a.element) > keptBytes {
		a.element = nil
	}
	return record, nil
}

// end sees that nothing follows the array.
func (a *array) end() error {
	a.ended = true
	for {
		c, err := a.read()
		if err != nil {
			return err
		}
		if !isSpace(c) {
			return a.broken("the text goes on after the array")
		}
	}
}

// token is the next byte that is no white space. The text must not end here.
func (a *array) token() (byte, error) {
	for {
		c, err := a.read()
		if err == io.EOF {
			return 0, a.broken("the array does not end")
		}
		if err != nil || !isSpace(c) {
			return c, err
		}
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func (a *array) read() (byte, error) {
	c, err := a.r.ReadByte()
	if err == nil {
		a.offset++
	}
	return c, err
}

func (a *array) broken(message string) error { return &FormatError{Offset: a.offset, Message: message} }

// value reads the value that begins with c, to its last byte. The marks that
// end it at depth 0 are left for the next read.
func (a *array) value(c byte) error {
	a.element, a.size = a.element[:0], 0
	depth, quoted, escaped := 0, false, false
	for {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		}
		if depth < 0 {
			return a.broken("a bracket closes nothing, or follows a comma")
		}
		a.size++
		if len(a.element) <= MaxRecord {
			a.element = append(a.element, c)
		}
		next, err := a.r.Peek(1)
		if err == io.EOF {
			return a.broken("the array does not end")
		}
		if err != nil {
			return err
		}
		if depth == 0 && !quoted && (next[0] == ',' || next[0] == ']' || isSpace(next[0])) {
			return nil
		}
		if c, err = a.read(); err != nil {
			return err
		}
	}
}

package objectrecords

import (
	"bytes"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// rowBytes bounds what is read for one row, the header too.
const rowBytes = 2*MaxRecord + readBuffer

// rows reads a CSV file with a header, each row as a JSON object of strings in
// the order of the header.
type rows struct {
	csv    *csv.Reader
	bound  *bounded
	base   int64
	header []string
	names  [][]byte // the header as `"name":`
	object []byte
}

// Header reads the header of a CSV text, for a reader that begins behind it.
func Header(r io.Reader) ([]string, error) {
	text, _, err := behindMark(r)
	if err != nil {
		return nil, err
	}
	rs, err := newRows(text, 0, nil)
	if err != nil {
		return nil, err
	}
	return rs.header, nil
}

func newRows(r io.Reader, offset int64, header []string) (*rows, error) {
	rs := &rows{}
	rs.begin(r, offset)
	if offset > 0 {
		rs.setHeader(header)
		return rs, nil
	}
	first, err := rs.csv.Read()
	if err == io.EOF {
		return rs, nil
	}
	var parse *csv.ParseError
	if errors.As(err, &parse) {
		return nil, &FormatError{Message: "the header is not a row of CSV: " + parse.Err.Error()}
	}
	if err != nil {
		return nil, rs.wrap(err)
	}
	header = append([]string{}, first...)
	if !areText(header) {
		return nil, &FormatError{Message: "the header is not UTF-8"}
	}
	rs.setHeader(header)
	return rs, nil
}

// begin reads rows from an offset on.
func (rs *rows) begin(r io.Reader, offset int64) {
	rs.bound, rs.base = &bounded{r: r, left: rowBytes}, offset
	rs.csv = csv.NewReader(rs.bound)
	rs.csv.FieldsPerRecord = -1
	rs.csv.ReuseRecord = true
}

func (rs *rows) setHeader(header []string) {
	rs.header = header
	for _, name := range header {
		rs.names = append(rs.names, append(appendQuoted(nil, name), ':'))
	}
}

func (rs *rows) Next() (Record, error) {
	rs.bound.left = rowBytes
	rs.bound.forget(rs.csv.InputOffset())
	fields, err := rs.csv.Read()
	end := rs.base + rs.csv.InputOffset()
	var parse *csv.ParseError
	switch {
	case errors.Is(err, errTooLong) && rs.bound.lines() > 1:
		return rs.endless("more than 20 MiB"), nil
	case errors.As(err, &parse) && rs.neverEnds(parse):
		return rs.endless(fmt.Sprintf("%d lines", rs.bound.lines())), nil
	case errors.As(err, &parse):
		text := bytes.TrimRight(rs.bound.until(rs.csv.InputOffset()), "\r\n")
		return Record{Data: text, Size: int64(len(text)), End: end, Bad: notARow(parse, text)}, nil
	case err != nil:
		return Record{}, rs.wrap(err)
	case len(fields) != len(rs.header):
		return Record{Data: rs.raw(fields), End: end,
			Bad: fmt.Sprintf("the row has %d fields, the header %d", len(fields), len(rs.header))}, nil
	case !areText(fields):
		return Record{Data: rs.raw(fields), End: end, Bad: "the row is not UTF-8"}, nil
	}
	rs.object = append(rs.object[:0], '{')
	for i, value := range fields {
		if i > 0 {
			rs.object = append(rs.object, ',')
		}
		rs.object = append(rs.object, rs.names[i]...)
		rs.object = appendQuoted(rs.object, value)
	}
	rs.object = append(rs.object, '}')
	return Record{Data: rs.object, Size: int64(len(rs.object)), End: end}, nil
}

// neverEnds says that the row has an open quote which takes in all the rest of the
// text, and it alone: with one quote more it would be a row.
func (rs *rows) neverEnds(parse *csv.ParseError) bool {
	if parse.Err != csv.ErrQuote || !rs.bound.ended || rs.csv.InputOffset() < rs.bound.at+int64(len(rs.bound.text)) || rs.bound.lines() < 2 {
		return false
	}
	closed := csv.NewReader(io.MultiReader(bytes.NewReader(rs.bound.text), strings.NewReader(`"`)))
	_, err := closed.Read()
	return err == nil
}

// endless sets the first line of a row aside that does not end, and has the lines
// behind it read as rows of their own.
func (rs *rows) endless(takesIn string) Record {
	text, at := rs.bound.text, rs.base+rs.bound.at
	blank := len(text) - len(bytes.TrimLeft(text, "\r\n"))
	length := blank + bytes.IndexByte(text[blank:], '\n') + 1
	row := bytes.Trim(text[:length], "\r\n")
	rest := bytes.NewReader(bytes.Clone(text[length:]))
	rs.begin(io.MultiReader(rest, rs.bound.r), at+int64(length))
	return Record{Data: row, Size: int64(len(row)), End: rs.base,
		Bad: "not a row of CSV: a quote is not closed, and would take in " + takesIn}
}

// notARow tells what is wrong with a row, and how many lines it has.
func notARow(parse *csv.ParseError, text []byte) string {
	bad := "not a row of CSV: " + parse.Err.Error()
	if lines := bytes.Count(text, []byte("\n")) + 1; lines > 1 {
		bad += fmt.Sprintf("; it takes in %d lines", lines)
	}
	return bad
}

// areText says that the fields can stand in JSON as they are.
func areText(fields []string) bool {
	for _, field := range fields {
		if !utf8.ValidString(field) {
			return false
		}
	}
	return true
}

// raw is a row as CSV again, for whoever looks at it as a failed record.
func (rs *rows) raw(fields []string) []byte {
	var text bytes.Buffer
	w := csv.NewWriter(&text)
	if w.Write(fields) != nil {
		return nil
	}
	w.Flush()
	return bytes.TrimSuffix(text.Bytes(), []byte("\n"))
}

// wrap makes a row without an end, which a stray quote makes of all the rest, a
// fault of the format.
func (rs *rows) wrap(err error) error {
	if errors.Is(err, errTooLong) {
		return &FormatError{Offset: rs.base + rs.csv.InputOffset(), Message: "a row of more than 20 MiB; is a quote not closed?"}
	}
	return err
}

// bounded gives up when one row takes more than left, and remembers the text of the
// row that is being read.
type bounded struct {
	r     io.Reader
	left  int
	text  []byte // from offset at on
	at    int64
	ended bool // r has
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errTooLong
	}
	n, err := b.r.Read(p)
	b.left -= n
	b.text = append(b.text, p[:n]...)
	b.ended = b.ended || err == io.EOF
	return n, err
}

// lines counts those that the text has, without blank ones at its ends.
func (b *bounded) lines() int { return bytes.Count(bytes.Trim(b.text, "\r\n"), []byte("\n")) + 1 }

// until is the text up to an offset.
func (b *bounded) until(offset int64) []byte { return b.text[:offset-b.at] }

// forget drops the text before an offset, and the memory of a long row.
func (b *bounded) forget(offset int64) {
	rest := b.text[offset-b.at:]
	b.at = offset
	if cap(b.text) > 4*readBuffer {
		b.text = bytes.Clone(rest)
		return
	}
	b.text = b.text[len(b.text)-len(rest):]
}

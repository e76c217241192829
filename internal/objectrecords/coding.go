package objectrecords

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Codings of objects.
const (
	Identity = ""
	Gzip     = "gzip"
	Zstd     = "zstd"
)

// maxWindow bounds the memory that a zstd text may ask for: what zstd --long takes
// without further options.
const maxWindow = 128 << 20

// Recognise tells a compressed text by its first bytes and gives a reader that
// begins with them again.
func Recognise(r io.Reader) (coding string, whole io.Reader, err error) {
	b := bufio.NewReaderSize(r, readBuffer)
	head, err := b.Peek(4)
	if err != nil && err != io.EOF {
		return "", nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte{0x1f, 0x8b}):
		return Gzip, b, nil
	case bytes.HasPrefix(head, []byte{0x28, 0xb5, 0x2f, 0xfd}):
		return Zstd, b, nil
	case isSkippable(head):
		return Zstd, b, nil
	}
	return Identity, b, nil
}

// isSkippable recognises a frame of zstd that holds no text, with which pzstd and
// seekable files begin.
func isSkippable(head []byte) bool {
	return len(head) == 4 && head[0]&0xf0 == 0x50 && bytes.Equal(head[1:], []byte{0x2a, 0x4d, 0x18})
}

// Decode reads the text of a coding. A text that is broken is a [FormatError]; an
// error of r stays what it is. The reader must be closed.
func Decode(coding string, r io.Reader) (io.ReadCloser, error) {
	if coding == Identity {
		return io.NopCloser(r), nil
	}
	source := &source{r: r}
	var text io.ReadCloser
	var err error
	switch coding {
	case Gzip:
		text, err = gzip.NewReader(source)
	case Zstd:
		var z *zstd.Decoder
		if z, err = zstd.NewReader(source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow)); err == nil {
			text = z.IOReadCloser()
		}
	default:
		return nil, fmt.Errorf("no coding %q", coding)
	}
	d := &decoded{ReadCloser: text, source: source, coding: coding}
	if err != nil {
		return nil, d.explain(err)
	}
	return d, nil
}

// source remembers with which error its reader ended.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && err != io.EOF {
		s.err = err
	}
	return n, err
}

// decoded is decoded text whose errors are its own, not the source's.
type decoded struct {
	io.ReadCloser
	source *source
	coding string
	offset int64
}

func (d *decoded) Read(p []byte) (int, error) {
	n, err := d.ReadCloser.Read(p)
	d.offset += int64(n)
	if err != nil && err != io.EOF {
		err = d.explain(err)
	}
	return n, err
}

// explain tells a broken text from a source that can't be read.
func (d *decoded) explain(err error) error {
	if d.source.err != nil {
		return d.source.err
	}
	if errors.Is(err, zstd.ErrWindowSizeExceeded) {
		return &FormatError{Offset: d.offset, Message: "the zstd text asks for a window of more than 128 MiB; compress it with --long=27 at most"}
	}
	if errors.Is(err, io.ErrUnexpectedEOF) || err == io.EOF {
		return &FormatError{Offset: d.offset, Message: "the " + d.coding + " text is cut off"}
	}
	return &FormatError{Offset: d.offset, Message: "the " + d.coding + " text is broken: " + err.Error()}
}

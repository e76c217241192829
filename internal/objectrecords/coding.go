package objectrecords

import (
	"bufio"
	"bytes"
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

// maxWindow bounds the memory that a zstd text may ask for.
const maxWindow = 32 << 20

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
	}
	return Identity, b, nil
}

// Decode reads the text of a coding. The reader must be closed.
func Decode(coding string, r io.Reader) (io.ReadCloser, error) {
	switch coding {
	case Identity:
		return io.NopCloser(r), nil
	case Gzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, &FormatError{Message: err.Error()}
		}
		return z, nil
	case Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, &FormatError{Message: err.Error()}
		}
		return z.IOReadCloser(), nil
	}
	return nil, fmt.Errorf("no coding %q", coding)
}

package objectrecords

import (
	"bytes"
	stdgzip "compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// encode compresses a text in so many members, as tools that append do.
func encode(t require.TestingT, coding, text string, members int) []byte {
	var b bytes.Buffer
	for i := range members {
		part := text[i*len(text)/members : (i+1)*len(text)/members]
		var w io.WriteCloser
		switch coding {
		case Gzip:
			w = stdgzip.NewWriter(&b)
		case Zstd:
			z, err := zstd.NewWriter(&b)
			require.NoError(t, err)
			w = z
		default:
			b.WriteString(part)
			continue
		}
		_, err := io.WriteString(w, part)
		require.NoError(t, err)
		require.NoError(t, w.Close())
	}
	return b.Bytes()
}

func TestCodingsAreRecognisedAndDecoded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		coding := rapid.SampledFrom([]string{Identity, Gzip, Zstd}).Draw(t, "coding")
		text := rapid.StringMatching(`[a-z\n]{0,200}`).Draw(t, "text")
		encoded := encode(t, coding, text, rapid.IntRange(1, 3).Draw(t, "members"))
		found, whole, err := Recognise(iotest.HalfReader(bytes.NewReader(encoded)))
		require.NoError(t, err)
		require.Equal(t, coding, found)
		decoded, err := Decode(found, whole)
		require.NoError(t, err)
		read, err := io.ReadAll(decoded)
		require.NoError(t, err)
		require.NoError(t, decoded.Close())
		require.Equal(t, text, string(read))
	})
}

func TestBrokenCodingsAreTheFormatsFault(t *testing.T) {
	text := strings.Repeat("some text that is compressed\n", 5000)
	for _, coding := range []string{Gzip, Zstd} {
		whole := encode(t, coding, text, 1)
		cut, flipped := whole[:len(whole)/2], bytes.Clone(whole)
		flipped[len(flipped)-3] ^= 0xff
		for name, encoded := range map[string][]byte{"cut off": cut, "broken": flipped, "followed by something else": append(bytes.Clone(whole), "tail"...)} {
			decoded, err := Decode(coding, bytes.NewReader(encoded))
			require.NoError(t, err)
			_, err = io.Copy(io.Discard, decoded)
			var fault *FormatError
			require.ErrorAs(t, err, &fault, "%s %s", coding, name)
			_ = decoded.Close() // tells the same again, or nothing
		}
		broken := errors.New("no connection")
		decoded, err := Decode(coding, io.MultiReader(bytes.NewReader(cut), iotest.ErrReader(broken)))
		require.NoError(t, err)
		_, err = io.Copy(io.Discard, decoded)
		require.ErrorIs(t, err, broken, "a source that can't be read is no fault of the text")
	}
	_, err := Decode(Gzip, strings.NewReader("\x1f\x8b"))
	var fault *FormatError
	require.ErrorAs(t, err, &fault)
	_, err = Decode("br", strings.NewReader(""))
	require.ErrorContains(t, err, "no coding")
}

// pzstd and seekable files begin with a frame that holds no text.
func TestZstdTextsThatBeginWithASkippableFrameAreRecognised(t *testing.T) {
	text := strings.Repeat("a line\n", 1000)
	for kind := byte(0x50); kind <= 0x5f; kind++ {
		skipped := []byte{kind, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 1, 2, 3, 4}
		coding, whole, err := Recognise(bytes.NewReader(append(skipped, encode(t, Zstd, text, 2)...)))
		require.NoError(t, err)
		require.Equal(t, Zstd, coding)
		decoded, err := Decode(coding, whole)
		require.NoError(t, err)
		read, err := io.ReadAll(decoded)
		require.NoError(t, err)
		require.Equal(t, text, string(read))
	}
}

// zstd --long asks for a window of 128 MiB.
func TestZstdTextsWithLongWindowsAreRead(t *testing.T) {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(128<<20), zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(false))
	require.NoError(t, err)
	_, err = io.Copy(w, io.LimitReader(zeros{}, 40<<20))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	decoded, err := Decode(Zstd, &b)
	require.NoError(t, err)
	n, err := io.Copy(io.Discard, decoded)
	require.NoError(t, err)
	require.EqualValues(t, 40<<20, n)
	require.NoError(t, decoded.Close())
}

// What asks for more is refused, and told how it can be read.
func TestZstdTextsWithLongerWindowsAreRefused(t *testing.T) {
	const frame = "\x28\xb5\x2f\xfd\x00\x90\x01\x00\x00" // a window of 256 MiB, and nothing in it
	decoded, err := Decode(Zstd, strings.NewReader(frame))
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, decoded)
	var fault *FormatError
	require.ErrorAs(t, err, &fault)
	require.Contains(t, err.Error(), "--long=27")
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

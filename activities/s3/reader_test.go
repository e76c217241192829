package s3

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"

	"sluice/activities"
)

// brokenS3 has one object, of which an answer holds so many bytes before the
// connection breaks.
type brokenS3 struct {
	API
	text   string
	each   int
	untold bool // of lengths
	gets   int
}

func (b *brokenS3) GetObject(_ context.Context, in *awss3.GetObjectInput, _ ...func(*awss3.Options)) (*awss3.GetObjectOutput, error) {
	b.gets++
	out := &awss3.GetObjectOutput{ETag: aws.String(`"v"`)}
	rest := b.text
	if in.Range != nil {
		var from int
		if _, err := fmt.Sscanf(*in.Range, "bytes=%d-", &from); err != nil {
			return nil, err
		}
		rest = b.text[from:]
		out.ContentRange = aws.String(fmt.Sprintf("bytes %d-%d/%d", from, len(b.text)-1, len(b.text)))
	}
	out.ContentLength = aws.Int64(int64(len(rest)))
	if b.untold {
		out.ContentLength = nil
	}
	if len(rest) > b.each {
		out.Body = io.NopCloser(io.MultiReader(strings.NewReader(rest[:b.each]), iotest.ErrReader(io.ErrUnexpectedEOF)))
		return out, nil
	}
	out.Body = io.NopCloser(strings.NewReader(rest))
	return out, nil
}

// TestAnObjectIsReadToItsEnd: through broken connections, from any offset, and
// whatever size the caller believes it has.
func TestAnObjectIsReadToItsEnd(t *testing.T) {
	text := strings.Repeat("0123456789", 10)
	for _, each := range []int{1000, 40} {
		for _, size := range []int64{0, 5, int64(len(text)), 10_000} {
			for _, offset := range []int64{0, 7} {
				b := &brokenS3{text: text, each: each}
				body, object, err := (&Activities{API: b}).OpenObject(t.Context(), Object{Bucket: "b", Key: "k", Size: size}, offset)
				require.NoError(t, err)
				read, err := io.ReadAll(body)
				require.NoError(t, err, "size %d, offset %d", size, offset)
				require.Equal(t, text[offset:], string(read))
				require.EqualValues(t, len(text), object.Size)
				require.Equal(t, "v", object.ETag)
			}
		}
	}
	body, _, err := (&Activities{API: &brokenS3{text: text, each: 1000, untold: true}}).OpenObject(t.Context(), Object{Bucket: "b", Key: "k"}, 0)
	require.NoError(t, err)
	read, err := io.ReadAll(body)
	require.NoError(t, err)
	require.True(t, bytes.Equal([]byte(text), read))
}

// TestAnETagWithItsQuotesIsTheSameVersion: as S3 and most tools write it.
func TestAnETagWithItsQuotesIsTheSameVersion(t *testing.T) {
	for etag, same := range map[string]bool{`v`: true, `"v"`: true, ``: true, `"w"`: false, `w`: false} {
		body, object, err := (&Activities{API: &brokenS3{text: "text", each: 1000}}).OpenObject(t.Context(), Object{Bucket: "b", Key: "k", ETag: etag}, 0)
		if !same {
			require.Equal(t, activities.TypeConflict, activities.TypeOf(err), etag)
			continue
		}
		require.NoError(t, err, etag)
		require.NoError(t, body.Close())
		require.Equal(t, "v", object.ETag)
	}
}

package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/internal/errortype"
)

// ObjectReader opens an object at an offset and gives a reader that survives
// broken connections. An object whose ETag is not the one asked for is a
// Conflict; "" pins the ETag that is found, which Object.ETag then has. One may be
// given with its quotes or without.
type ObjectReader interface {
	OpenObject(ctx context.Context, o Object, offset int64) (io.ReadCloser, Object, error)
}

// readTries is how often a read is taken up again that brings nothing.
const readTries = 5

// OpenObject implements ObjectReader.
func (s *Activities) OpenObject(ctx context.Context, o Object, offset int64) (io.ReadCloser, Object, error) {
	o.ETag = PlainETag(o.ETag)
	r := &objectBody{ctx: ctx, s: s, object: o, offset: offset, length: -1}
	for {
		err := r.open()
		if err == nil {
			return r, r.object, nil
		}
		if err := r.again(err); err != nil {
			return nil, o, err
		}
	}
}

// objectBody reads an object and opens it again where the connection broke.
type objectBody struct {
	ctx    context.Context //nolint:containedctx // a Read has none of its own
	s      *Activities
	object Object // with the size that was found: a caller's may be wrong
	offset int64
	length int64 // of the whole object; -1 where it isn't told
	body   io.ReadCloser
	tries  int
}

func (r *objectBody) target() string { return r.object.Bucket + "/" + r.object.Key }

func (r *objectBody) open() error {
	input := &awss3.GetObjectInput{Bucket: &r.object.Bucket, Key: &r.object.Key}
	if r.object.ETag != "" {
		input.IfMatch = aws.String(`"` + r.object.ETag + `"`)
	}
	if r.offset > 0 {
		input.Range = aws.String(fmt.Sprintf("bytes=%d-", r.offset))
	}
	output, err := r.s.API.GetObject(r.ctx, input)
	var response *awshttp.ResponseError
	if errors.As(err, &response) {
		switch response.HTTPStatusCode() {
		case http.StatusRequestedRangeNotSatisfiable:
			r.body = http.NoBody // all was read
			return nil
		case http.StatusPreconditionFailed:
			return r.changed()
		}
	}
	if err != nil {
		return awscall.Failure("S3.GetObject", r.target(), err)
	}
	if found := etag(output.ETag); r.object.ETag != "" && found != r.object.ETag {
		_ = output.Body.Close()
		return r.changed()
	} else if r.object.ETag == "" {
		r.object.ETag = found
	}
	if length := wholeLength(output); length >= 0 {
		r.object.Size, r.length = length, length
	}
	r.body = output.Body
	if r.offset > 0 && output.ContentRange == nil {
		// The range was passed over: skip to it.
		_, err = io.CopyN(io.Discard, r.body, r.offset)
	}
	return err
}

func (r *objectBody) changed() error {
	return activities.Fail(activities.TypeConflict, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Code: "PreconditionFailed", Operation: "S3.GetObject", Target: r.target()},
		Message:      "the object is not the version with ETag " + r.object.ETag + " any more",
	})
}

func (r *objectBody) Read(p []byte) (int, error) {
	for {
		if r.body == nil {
			if err := r.open(); err != nil {
				if err := r.again(err); err != nil {
					return 0, err
				}
				continue
			}
		}
		n, err := r.body.Read(p)
		r.offset += int64(n)
		if n > 0 {
			r.tries = 0
			return n, nil // an error comes again with the next read
		}
		if err == nil || err == io.EOF && r.complete() {
			return 0, err
		}
		if err := r.again(err); err != nil {
			return 0, err
		}
	}
}

// wholeLength is how long the object is of which an answer holds all or a part;
// -1 is not known.
func wholeLength(output *awss3.GetObjectOutput) int64 {
	if output.ContentRange == nil {
		if output.ContentLength == nil {
			return -1
		}
		return *output.ContentLength
	}
	_, total, _ := strings.Cut(*output.ContentRange, "/") // bytes 5-9/10
	length, err := strconv.ParseInt(total, 10, 64)
	if err != nil {
		return -1
	}
	return length
}

// complete says whether the end of the body is the object's.
func (r *objectBody) complete() bool { return r.offset >= r.length }

// again closes a broken body and waits a little before it is opened again, or
// gives up.
func (r *objectBody) again(err error) error {
	if r.body != nil {
		_ = r.body.Close()
		r.body = nil
	}
	failure := awscall.Failure("S3.GetObject", r.target(), err)
	if r.ctx.Err() != nil {
		return r.ctx.Err()
	}
	if activities.TypeOf(failure) != "" && !errortype.Retryable(activities.TypeOf(failure)) {
		return failure
	}
	if r.tries++; r.tries > readTries {
		return failure
	}
	select {
	case <-time.After(awscall.Backoff.Delay(r.tries, rand.Float64())):
		return nil
	case <-r.ctx.Done():
		return r.ctx.Err()
	}
}

// Close implements io.Closer.
func (r *objectBody) Close() error {
	if r.body == nil {
		return nil
	}
	return r.body.Close()
}

// both closes a decoder and what it reads from.
type both struct {
	io.ReadCloser
	below io.Closer
}

func (b both) Close() error { return errors.Join(b.ReadCloser.Close(), b.below.Close()) }

// CloseBoth makes closing the decoder close what it reads from as well.
func CloseBoth(decoder io.ReadCloser, below io.Closer) io.ReadCloser { return both{decoder, below} }

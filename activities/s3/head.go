package s3

import (
	"context"
	"errors"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
)

// head asks for an object's ETag and size. A HEAD has no body to tell the reason of a
// refusal in, so that an expired token looks like a wrong request and a clock that is
// off like a lack of rights: then the object's first byte is asked for, which tells.
func (s *Activities) head(ctx context.Context, bucket, key string) (etag *string, size int64, err error) {
	head, err := s.API.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &bucket, Key: &key})
	if err == nil {
		return head.ETag, aws.ToInt64(head.ContentLength), nil
	}
	if !mute(err) {
		return nil, 0, err
	}
	got, err := s.API.GetObject(ctx, &awss3.GetObjectInput{Bucket: &bucket, Key: &key, Range: aws.String("bytes=0-0")})
	var response *awshttp.ResponseError
	if errors.As(err, &response) && response.HTTPStatusCode() == http.StatusRequestedRangeNotSatisfiable {
		// An object without a byte: the service has looked at it.
		head, err = s.API.HeadObject(ctx, &awss3.HeadObjectInput{Bucket: &bucket, Key: &key})
		if err != nil {
			return nil, 0, err
		}
		return head.ETag, aws.ToInt64(head.ContentLength), nil
	}
	if err != nil {
		return nil, 0, err
	}
	_ = got.Body.Close()
	return got.ETag, max(wholeLength(got), 0), nil
}

// mute says that a refusal may have another reason than its status tells.
func mute(err error) bool {
	var response *awshttp.ResponseError
	if !errors.As(err, &response) {
		return false
	}
	status := response.HTTPStatusCode()
	return status == http.StatusBadRequest || status == http.StatusForbidden
}

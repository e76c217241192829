package s3

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/internal/document"
	"sluice/internal/wire"
)

// API is what the activities call of the AWS client.
type API interface {
	HeadObject(context.Context, *awss3.HeadObjectInput, ...func(*awss3.Options)) (*awss3.HeadObjectOutput, error)
	ListObjectsV2(context.Context, *awss3.ListObjectsV2Input, ...func(*awss3.Options)) (*awss3.ListObjectsV2Output, error)
	GetObject(context.Context, *awss3.GetObjectInput, ...func(*awss3.Options)) (*awss3.GetObjectOutput, error)
	PutObject(context.Context, *awss3.PutObjectInput, ...func(*awss3.Options)) (*awss3.PutObjectOutput, error)
}

// Activities describes, lists and reads objects. All of it may be repeated.
type Activities struct{ API API }

// Object is an object as S3.Describe answers it and Kinesis.PutObject takes it.
type Object struct {
	Bucket string `json:"bucket" doc:"required"`
	Key    string `json:"key" doc:"required"`
	ETag   string `json:"etag"` // "" takes whatever version is there
	Size   int64  `json:"size"` // bytes, as stored
}

// Description is the answer of S3.Describe.
type Description struct {
	Object Object `json:"object"`
}

// Listing is the answer of S3.List, in the order of the keys.
type Listing struct {
	Objects   []Object `json:"objects"`
	Truncated bool     `json:"truncated"` // there are more
}

// maxListed is how many objects an answer lists at most, so that it stays well
// within a payload.
const maxListed = 10_000

// maxListedBytes bounds an answer by the length of its names.
const maxListedBytes = 1 << 20

// All lists the activities under their names.
func (s *Activities) All() []activities.Named {
	return []activities.Named{{Name: wire.S3Describe, Code: s.Describe}, {Name: wire.S3List, Code: s.List}}
}

// Describe answers {"object":{"bucket","key","etag","size"}} for {"bucket","key"}.
// Errors: InvalidInput, NotFound, AccessDenied, Throttled, Unavailable.
func (s *Activities) Describe(ctx context.Context, raw json.RawMessage) (Description, error) {
	var input struct {
		Bucket string `json:"bucket" doc:"required"`
		Key    string `json:"key" doc:"required"`
	}
	if err := document.Decode(raw, &input).Err(); err != nil {
		return Description{}, activities.Invalid(wire.S3Describe, err)
	}
	tag, size, err := s.head(ctx, input.Bucket, input.Key)
	if err != nil {
		return Description{}, awscall.Failure(wire.S3Describe, input.Bucket+"/"+input.Key, err)
	}
	return Description{Object{Bucket: input.Bucket, Key: input.Key, ETag: etag(tag), Size: size}}, nil
}

// List answers {"objects":[…],"truncated"} for {"bucket","prefix","limit"}: at
// most limit objects (0: 10,000), fewer where their names are long. Errors as
// Describe.
func (s *Activities) List(ctx context.Context, raw json.RawMessage) (Listing, error) {
	var input struct {
		Bucket string `json:"bucket" doc:"required"`
		Prefix string `json:"prefix"`
		Limit  int    `json:"limit"`
	}
	faults := document.Decode(raw, &input)
	if input.Limit < 0 || input.Limit > maxListed {
		faults.Add("limit", "must be 0 to %d, not %d", maxListed, input.Limit)
	}
	if err := faults.Err(); err != nil {
		return Listing{}, activities.Invalid(wire.S3List, err)
	}
	if input.Limit == 0 {
		input.Limit = maxListed
	}
	listing := Listing{Objects: []Object{}}
	pages := awss3.NewListObjectsV2Paginator(s.API, &awss3.ListObjectsV2Input{Bucket: &input.Bucket, Prefix: &input.Prefix})
	bytes := 0
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return Listing{}, awscall.Failure(wire.S3List, input.Bucket+"/"+input.Prefix, err)
		}
		for _, o := range page.Contents {
			bytes += len(input.Bucket) + len(aws.ToString(o.Key)) + 100
			if len(listing.Objects) == input.Limit || bytes > maxListedBytes {
				listing.Truncated = true
				return listing, nil
			}
			listing.Objects = append(listing.Objects, Object{Bucket: input.Bucket, Key: aws.ToString(o.Key),
				ETag: etag(o.ETag), Size: aws.ToInt64(o.Size)})
		}
	}
	return listing, nil
}

// PlainETag is an ETag without its quotes, with which services and tools write it.
func PlainETag(etag string) string { return strings.Trim(etag, `"`) }

func etag(quoted *string) string { return PlainETag(aws.ToString(quoted)) }

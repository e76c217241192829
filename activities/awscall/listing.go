package awscall

import (
	"context"
	"fmt"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go/middleware"
)

// AddEncodedListing has S3 tell the keys of a listing encoded, and decodes them.
// XML has no way to write most control characters, so a listing with one such key
// can't be read otherwise. Callers see the keys as they are.
func AddEncodedListing(stack *middleware.Stack) error {
	return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("SluiceEncodedListing",
		func(ctx context.Context, in middleware.InitializeInput, next middleware.InitializeHandler) (
			middleware.InitializeOutput, middleware.Metadata, error,
		) {
			input, lists := in.Parameters.(*s3.ListObjectsV2Input)
			if !lists || input.EncodingType != "" {
				return next.HandleInitialize(ctx, in)
			}
			encoded := *input
			encoded.EncodingType = s3types.EncodingTypeUrl
			in.Parameters = &encoded
			out, metadata, err := next.HandleInitialize(ctx, in)
			if listing, ok := out.Result.(*s3.ListObjectsV2Output); err == nil && ok {
				err = decodeListing(listing)
			}
			return out, metadata, err
		}), middleware.After)
}

// decodeListing decodes what an answer says is encoded: an emulator may not know
// how.
func decodeListing(listing *s3.ListObjectsV2Output) error {
	if listing.EncodingType != s3types.EncodingTypeUrl {
		return nil
	}
	texts := []*string{listing.Prefix, listing.StartAfter, listing.Delimiter}
	for i := range listing.Contents {
		texts = append(texts, listing.Contents[i].Key)
	}
	for i := range listing.CommonPrefixes {
		texts = append(texts, listing.CommonPrefixes[i].Prefix)
	}
	for _, text := range texts {
		if text == nil {
			continue
		}
		decoded, err := url.QueryUnescape(*text)
		if err != nil {
			return fmt.Errorf("a listing has the key %q, which is not encoded as a URL is: %w", aws.ToString(text), err)
		}
		*text = decoded
	}
	listing.EncodingType = ""
	return nil
}

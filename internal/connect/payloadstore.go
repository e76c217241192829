package connect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"
)

// payloadThreshold is the size from which payloads travel by reference.
const payloadThreshold = 256 << 10

// payloadStore keeps large payloads as S3 objects named by their own digest, so
// that a repeated store writes the same object again.
type payloadStore struct {
	bucket string
	client *s3.Client
}

// ExternalStorage is the SDK's setting for payloads by reference; the zero value
// when no bucket is given.
func ExternalStorage(bucket string, client *s3.Client) converter.ExternalStorage {
	if bucket == "" {
		return converter.ExternalStorage{}
	}
	return converter.ExternalStorage{
		Drivers:              []converter.StorageDriver{payloadStore{bucket, client}},
		PayloadSizeThreshold: payloadThreshold,
	}
}

func (payloadStore) Name() string { return "sluice-s3" }

func (payloadStore) Type() string { return "sluice-s3" }

func (p payloadStore) Store(ctx converter.StorageDriverStoreContext, payloads []*commonpb.Payload) ([]converter.StorageDriverClaim, error) {
	claims := make([]converter.StorageDriverClaim, len(payloads))
	for i, payload := range payloads {
		err := ctx.GetLimiter().Permit(ctx.Context, payload, func() (err error) {
			claims[i], err = p.store(ctx.Context, payload)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("store payload in bucket %s: %w", p.bucket, err)
		}
	}
	return claims, nil
}

func (p payloadStore) store(ctx context.Context, payload *commonpb.Payload) (converter.StorageDriverClaim, error) {
	raw, err := proto.MarshalOptions{Deterministic: true}.Marshal(payload)
	if err != nil {
		return converter.StorageDriverClaim{}, err
	}
	digest := sha256.Sum256(raw)
	key := "payloads/" + hex.EncodeToString(digest[:])
	_, err = p.client.PutObject(ctx, &s3.PutObjectInput{Bucket: &p.bucket, Key: &key, Body: bytes.NewReader(raw)})
	return converter.StorageDriverClaim{ClaimData: map[string]string{"bucket": p.bucket, "key": key}}, err
}

func (p payloadStore) Retrieve(ctx converter.StorageDriverRetrieveContext, claims []converter.StorageDriverClaim) ([]*commonpb.Payload, error) {
	payloads := make([]*commonpb.Payload, len(claims))
	for i, claim := range claims {
		err := ctx.GetLimiter().Permit(ctx.Context, claim, func() (err error) {
			payloads[i], err = p.retrieve(ctx.Context, claim)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("retrieve payload %s: %w", claim.ClaimData["key"], err)
		}
	}
	return payloads, nil
}

func (p payloadStore) retrieve(ctx context.Context, claim converter.StorageDriverClaim) (*commonpb.Payload, error) {
	object, err := p.client.GetObject(ctx, &s3.GetObjectInput{
		Bucket: aws.String(claim.ClaimData["bucket"]), Key: aws.String(claim.ClaimData["key"]),
	})
	if err != nil {
		return nil, err
	}
	defer object.Body.Close()
	raw, err := io.ReadAll(object.Body)
	if err != nil {
		return nil, err
	}
	payload := &commonpb.Payload{}
	return payload, proto.Unmarshal(raw, payload)
}

package main

import (
	"bytes"
	"io"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/stretchr/testify/require"
)

func TestLargeObjectsHaveChecksumsToo(t *testing.T) {
	c := connect(t)
	bucket, key := name(t), aws.String("large")
	_, err := c.s3.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket})
	require.NoError(t, err)
	data := bytes.Repeat([]byte("0123456789abcdef"), 18<<20/16)
	_, err = c.s3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: key, Body: bytes.NewReader(data)})
	require.NoError(t, err)
	for range 2 {
		out, err := c.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: key, ChecksumMode: s3types.ChecksumModeEnabled})
		require.NoError(t, err)
		require.NotEmpty(t, aws.ToString(out.ChecksumCRC32))
		got, err := io.ReadAll(out.Body)
		require.NoError(t, err)
		require.True(t, bytes.Equal(data, got))
	}
	part, err := c.s3.GetObject(t.Context(), &s3.GetObjectInput{Bucket: &bucket, Key: key, Range: aws.String("bytes=10-19")})
	require.NoError(t, err)
	got, err := io.ReadAll(part.Body)
	require.NoError(t, err)
	require.Equal(t, "abcdef0123", string(got))
}

package activities

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
	"github.com/stretchr/testify/require"
)

// seenBodies keeps what the transport is given.
type seenBodies struct {
	writes bool // a body could write itself
	body   []byte
	length int64
}

func (s *seenBodies) RoundTrip(r *http.Request) (*http.Response, error) {
	_, s.writes = r.Body.(io.WriterTo)
	s.length = r.ContentLength
	var err error
	if s.body, err = io.ReadAll(r.Body); err != nil {
		return nil, err
	}
	answer := `{"Records":[]}`
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(bytes.NewReader([]byte(answer))),
		ContentLength: int64(len(answer)), Request: r}, nil
}

func TestBodiesDoNotWriteThemselves(t *testing.T) {
	seen := &seenBodies{}
	client := &http.Client{Transport: seen}
	keys, url := credentials.NewStaticCredentialsProvider("a", "b", ""), aws.String("http://127.0.0.1:1")
	options := []func(*middleware.Stack) error{AddPlainBodies}
	body := []byte(`{"TableName":"t","Item":{"id":{"S":"1"}}}`)
	for name, call := range map[string]func() error{
		"Kinesis": func() error {
			api := kinesis.New(kinesis.Options{Region: "r", BaseEndpoint: url, Credentials: keys, HTTPClient: client})
			_, _, err := putBody(context.Background(), api, streamName{name: "s"}, body, nil)
			return err
		},
		"Kinesis whose client has it already": func() error {
			api := kinesis.New(kinesis.Options{Region: "r", BaseEndpoint: url, Credentials: keys, HTTPClient: client, APIOptions: options})
			_, _, err := putBody(context.Background(), api, streamName{name: "s"}, body, nil)
			return err
		},
		"DynamoDB": func() error {
			api := dynamodb.New(dynamodb.Options{Region: "r", BaseEndpoint: url, Credentials: keys, HTTPClient: client})
			w := wire{document: body, output: &dynamodb.PutItemOutput{}}
			_, err := api.PutItem(context.Background(), &dynamodb.PutItemInput{}, func(o *dynamodb.Options) {
				o.APIOptions = append(o.APIOptions, w.insert)
			})
			return err
		},
		"S3": func() error {
			api := s3.New(s3.Options{Region: "r", BaseEndpoint: url, Credentials: keys, HTTPClient: client, APIOptions: options, UsePathStyle: true,
				RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired})
			_, err := api.PutObject(context.Background(), &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: bytes.NewReader(body)})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			*seen = seenBodies{}
			require.NoError(t, call())
			require.False(t, seen.writes)
			require.Equal(t, string(body), string(seen.body))
			require.EqualValues(t, len(body), seen.length)
		})
	}
}

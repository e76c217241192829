package activities

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"
)

func TestBodiesDoNotWriteThemselves(t *testing.T) {
	body := []byte("an object")
	PlainBody(t, body, func(client *http.Client) error {
		api := s3.New(s3.Options{Region: "r", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: client, UsePathStyle: true,
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), APIOptions: []func(*middleware.Stack) error{AddPlainBodies},
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired})
		_, err := api.PutObject(context.Background(), &s3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: bytes.NewReader(body)})
		return err
	})
}

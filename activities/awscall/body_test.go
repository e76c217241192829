package awscall

import (
	"bytes"
	"context"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go/middleware"

	"sluice/activities/internal/bodytest"
)

func TestBodiesDoNotWriteThemselves(t *testing.T) {
	body := []byte("an object")
	bodytest.PlainBody(t, body, func(client *http.Client) error {
		api := awss3.New(awss3.Options{Region: "r", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: client, UsePathStyle: true,
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""), APIOptions: []func(*middleware.Stack) error{AddPlainBodies},
			RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired})
		_, err := api.PutObject(context.Background(), &awss3.PutObjectInput{Bucket: aws.String("b"), Key: aws.String("k"), Body: bytes.NewReader(body)})
		return err
	})
}

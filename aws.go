package sluice

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"sluice/activities/awscall"
)

// connectionsPerHost keeps enough connections for a worker's parallel calls to
// one endpoint; the transport's own default of 10 would close and reopen them.
const connectionsPerHost = 256

// AWS loads the SDK's default chain: environment, profile files, instance role.
func AWS(ctx context.Context) (aws.Config, error) {
	// A plain *http.Client would be refused where AWS_CA_BUNDLE is set.
	transport := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 2 * connectionsPerHost
		t.MaxIdleConnsPerHost = connectionsPerHost
		t.ResponseHeaderTimeout = time.Minute
	})
	c, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(transport))
	if err != nil {
		return c, fmt.Errorf("AWS configuration: %w", err)
	}
	c.APIOptions = append(c.APIOptions, awscall.AddPlainBodies)
	awscall.Watch(&c)
	return c, nil
}

// S3 makes the S3 client. A custom endpoint gets path-style addresses, since
// emulators have no DNS names for buckets.
func S3(c aws.Config) *s3.Client {
	return s3.NewFromConfig(c, func(o *s3.Options) {
		o.UsePathStyle = o.BaseEndpoint != nil
		o.APIOptions = append(o.APIOptions, awscall.AddEncodedListing)
	})
}

// SQS makes the SQS client.
func SQS(c aws.Config) *sqs.Client { return sqs.NewFromConfig(c) }

// DynamoDB makes the DynamoDB client.
func DynamoDB(c aws.Config) *dynamodb.Client { return dynamodb.NewFromConfig(c) }

// Full requests of small records have 100 to 200 KiB, their answers 60 KiB. A
// buffer that holds a whole one saves most of the system calls.
const (
	kinesisWriteBuffer = 256 << 10
	kinesisReadBuffer  = 64 << 10
)

// Kinesis makes the Kinesis client.
func Kinesis(c aws.Config) *kinesis.Client {
	return kinesis.NewFromConfig(c, func(o *kinesis.Options) {
		if transport, ok := o.HTTPClient.(*awshttp.BuildableClient); ok {
			o.HTTPClient = transport.WithTransportOptions(func(t *http.Transport) {
				t.WriteBufferSize, t.ReadBufferSize = kinesisWriteBuffer, kinesisReadBuffer
			})
		}
	})
}

package harness

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"
)

// Clients of a stack's services, for a test's own use. They go through the guard
// like everybody's, so faults and counters apply to them too.
type Clients struct {
	Client   client.Client
	DynamoDB *dynamodb.Client
	Kinesis  *kinesis.Client
	S3       *s3.Client
	SQS      *sqs.Client
	Queues   *azqueue.ServiceClient
}

func connect(env map[string]string) (Clients, error) {
	config := aws.Config{
		Region:      env["AWS_REGION"],
		Credentials: credentials.NewStaticCredentialsProvider(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient:  awshttp.NewBuildableClient(),
	}
	endpoint := func(service string) *string { return aws.String(env["AWS_ENDPOINT_URL_"+service]) }
	queues, err := azqueue.NewServiceClientFromConnectionString(env["AZURE_STORAGE_CONNECTION_STRING"], nil)
	if err != nil {
		return Clients{}, fmt.Errorf("azure queues: %w", err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	temporal, err := client.DialContext(ctx, client.Options{
		HostPort:  env["TEMPORAL_ADDRESS"],
		Namespace: env["TEMPORAL_NAMESPACE"],
		Logger:    temporallog.NewStructuredLogger(slog.New(slog.NewTextHandler(io.Discard, nil))),
	})
	if err != nil {
		return Clients{}, fmt.Errorf("temporal: %w", err)
	}
	return Clients{
		Client:   temporal,
		DynamoDB: dynamodb.NewFromConfig(config, func(o *dynamodb.Options) { o.BaseEndpoint = endpoint("DYNAMODB") }),
		Kinesis:  kinesis.NewFromConfig(config, func(o *kinesis.Options) { o.BaseEndpoint = endpoint("KINESIS") }),
		S3:       s3.NewFromConfig(config, func(o *s3.Options) { o.BaseEndpoint = endpoint("S3"); o.UsePathStyle = true }),
		SQS:      sqs.NewFromConfig(config, func(o *sqs.Options) { o.BaseEndpoint = endpoint("SQS") }),
		Queues:   queues,
	}, nil
}

// Name makes a name that nothing else on the stack has: lower-case letters,
// digits and hyphens, so that it is good for tables, streams, buckets and queues.
func (s *Stack) Name(prefix string) string {
	b := make([]byte, 5)
	_, _ = rand.Read(b) // never fails
	return prefix + "-" + hex.EncodeToString(b)
}

// Env is the value of a variable that clients of the stack get.
func (s *Stack) Env(name string) string { return s.env[name] }

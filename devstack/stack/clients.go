package stack

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// Clients of the emulated services.
type Clients struct {
	DynamoDB *dynamodb.Client
	Kinesis  *kinesis.Client
	S3       *s3.Client
	SQS      *sqs.Client
	Azure    *azqueue.ServiceClient // nil where no connection string is given
}

// Clients of this stack, through its guard.
func (e Env) clients() (*Clients, error) {
	env := e.Map()
	cfg := aws.Config{
		Region:      env["AWS_REGION"],
		Credentials: credentials.NewStaticCredentialsProvider(env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"], ""),
		HTTPClient:  awshttp.NewBuildableClient(),
	}
	return newClients(cfg, func(name string) string { return env[name] })
}

// EnvironmentClients are of whatever AWS_* and AZURE_* of this process name.
func EnvironmentClients(ctx context.Context) (*Clients, error) {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithHTTPClient(awshttp.NewBuildableClient()))
	if err != nil {
		return nil, err
	}
	if cfg.Region == "" {
		return nil, errors.New("no AWS_REGION: which endpoints? For the stack of this clone, `. .devstack/env` first")
	}
	return newClients(cfg, os.Getenv)
}

func newClients(cfg aws.Config, getenv func(string) string) (*Clients, error) {
	endpoint := func(service string) *string {
		for _, name := range []string{"AWS_ENDPOINT_URL_" + service, "AWS_ENDPOINT_URL"} {
			if url := getenv(name); url != "" {
				return &url
			}
		}
		return nil
	}
	c := &Clients{
		DynamoDB: dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = endpoint("DYNAMODB") }),
		Kinesis:  kinesis.NewFromConfig(cfg, func(o *kinesis.Options) { o.BaseEndpoint = endpoint("KINESIS") }),
		S3: s3.NewFromConfig(cfg, func(o *s3.Options) {
			o.BaseEndpoint = endpoint("S3")
			o.UsePathStyle = o.BaseEndpoint != nil
		}),
		SQS: sqs.NewFromConfig(cfg, func(o *sqs.Options) { o.BaseEndpoint = endpoint("SQS") }),
	}
	connection := getenv("AZURE_STORAGE_CONNECTION_STRING")
	if connection == "" {
		return c, nil
	}
	var err error
	if c.Azure, err = azqueue.NewServiceClientFromConnectionString(connection, nil); err != nil {
		return nil, fmt.Errorf("AZURE_STORAGE_CONNECTION_STRING: %w", err)
	}
	return c, nil
}

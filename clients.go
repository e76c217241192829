package sluice

import (
	"context"
	"errors"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azqueue/v2"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"sluice/internal/connect"
)

// Clients are a worker's connections to the outside, made once.
type Clients struct {
	Temporal  client.Client
	Converter converter.DataConverter // Temporal's
	Address   string                  // of Temporal
	Namespace string
	AWS       aws.Config
	S3        *s3.Client
	SQS       *sqs.Client
	Azure     *azqueue.ServiceClient // nil without access to Azure queues
}

// Hooks are what a program may want to hear of its worker; nil hears nothing.
type Hooks struct {
	Logger  *zap.Logger
	Metrics client.MetricsHandler
	// Calls sees every call to Temporal.
	Calls grpc.UnaryClientInterceptor
}

func (h Hooks) logger() *zap.Logger {
	if h.Logger == nil {
		return zap.NewNop()
	}
	return h.Logger
}

func (h Hooks) metrics() client.MetricsHandler {
	if h.Metrics == nil {
		return client.MetricsNopHandler
	}
	return h.Metrics
}

// Connect makes the clients of a worker: Temporal from TEMPORAL_* and the profile file,
// AWS by the SDK's default chain, Azure as the configuration has it. It fails where
// Temporal can't be reached. Close Temporal's when all is done.
func Connect(ctx context.Context, c Config, hooks Hooks) (*Clients, error) {
	awsConfig, err := AWS(ctx)
	if err != nil {
		return nil, err
	}
	made := &Clients{AWS: awsConfig, S3: S3(awsConfig), SQS: SQS(awsConfig)}
	made.Azure, err = connect.AzureQueues(c.Azure)
	if err != nil && !errors.Is(err, connect.ErrNoAzure) {
		return nil, err
	}
	options, err := ClientOptions(c.Config, made.S3, hooks.logger())
	if err != nil {
		return nil, err
	}
	options.MetricsHandler = hooks.metrics()
	if hooks.Calls != nil {
		options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(hooks.Calls))
	}
	made.Address = Address(options)
	made.Converter = options.DataConverter
	made.Namespace = namespaceOf(options)
	made.Temporal, err = Dial(ctx, options)
	return made, err
}

// namespaceOf is the namespace that the options lead to.
func namespaceOf(o client.Options) string {
	if o.Namespace == "" {
		return client.DefaultNamespace
	}
	return o.Namespace
}

package main

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

	"sluice"
	"sluice/internal/connect"
)

// clients are the connections to the outside, made once.
type clients struct {
	temporal  client.Client
	converter converter.DataConverter // temporal's
	address   string                  // of Temporal
	namespace string
	aws       aws.Config
	s3        *s3.Client
	sqs       *sqs.Client
	azure     *azqueue.ServiceClient // nil without access to Azure queues
}

func dial(ctx context.Context, c config, metrics client.MetricsHandler, polls *polls, logger *zap.Logger) (*clients, error) {
	awsConfig, err := sluice.AWS(ctx)
	if err != nil {
		return nil, err
	}
	made := &clients{aws: awsConfig, s3: sluice.S3(awsConfig), sqs: sluice.SQS(awsConfig)}
	made.azure, err = connect.AzureQueues(c.Azure)
	if err != nil && !errors.Is(err, connect.ErrNoAzure) {
		return nil, err
	}
	options, err := sluice.ClientOptions(c.Config, made.s3, logger)
	if err != nil {
		return nil, err
	}
	options.MetricsHandler = metrics
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, grpc.WithChainUnaryInterceptor(polls.intercept))
	made.address = sluice.Address(options)
	made.converter = options.DataConverter
	made.namespace = namespaceOf(options)
	made.temporal, err = sluice.Dial(ctx, options)
	return made, err
}

package sluice

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/envconfig"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/workflow"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"sluice/activities"
	"sluice/internal/connect"
	"sluice/workflows/throughput"
)

// DataConverter is Temporal's, with payloads encrypted when there is a key. A document
// that is no JSON reaches the workflow or activity that refuses it.
func DataConverter(c connect.Config) (converter.DataConverter, error) {
	codec := connect.NoEncryption()
	if c.EncryptionKey != "" {
		var err error
		if codec, err = connect.Encryption(c.EncryptionKey); err != nil {
			return nil, err
		}
	}
	return converter.NewCodecDataConverter(connect.Documents(converter.GetDefaultDataConverter()), codec), nil
}

// ClientOptions are the options of every client and worker of Sluice: address,
// namespace and credentials from TEMPORAL_* and the profile file, our data
// converter, headers and logger. store is used only with a PayloadBucket.
func ClientOptions(c connect.Config, store *s3.Client, logger *zap.Logger) (client.Options, error) {
	options, err := envconfig.LoadDefaultClientOptions()
	if err != nil {
		return options, fmt.Errorf("configuration of Temporal: %w", err)
	}
	options.DataConverter, err = DataConverter(c)
	if err != nil {
		return options, err
	}
	if c.EncryptionKey != "" {
		options.FailureConverter = connect.EncryptedFailures(options.DataConverter)
	}
	if c.PayloadBucket == "" {
		options.DataConverter = LimitPayloads(options.DataConverter)
	}
	options.ExternalStorage = connect.ExternalStorage(c.PayloadBucket, store)
	options.ContextPropagators = []workflow.ContextPropagator{activities.ContextPropagator(options.DataConverter)}
	options.ConnectionOptions.GrpcCompression = compression(c)
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, windows()...)
	options.ConnectionOptions.DialOptions = append(options.ConnectionOptions.DialOptions, AnyWorkflowID(), throughput.AskOnce())
	options.Logger = connect.TemporalLogger(logger)
	return options, nil
}

// compression is none unless it was asked for, other than the SDK's. Nearly all
// messages are far below a kilobyte: gzip makes them little smaller, and took a
// tenth of the processor time of a worker that heartbeats for a thousand
// activities (docs/performance.md).
func compression(c connect.Config) client.GrpcCompression {
	if c.Compression == "gzip" {
		return &client.GrpcCompressionGzip{}
	}
	return &client.GrpcCompressionNone{}
}

// windows lets the server send a whole message, and several at once, before it
// hears of what was read. Left to itself, gRPC finds the sizes out with a ping
// after each of the many small answers: that took a sixth of the worker's
// processor time (docs/performance.md).
func windows() []grpc.DialOption {
	const message = 4 << 20 // gRPC's limit as Temporal has it
	return []grpc.DialOption{grpc.WithStaticStreamWindowSize(message), grpc.WithStaticConnWindowSize(4 * message)}
}

// Dial connects to Temporal and fails when it can't be reached.
func Dial(ctx context.Context, options client.Options) (client.Client, error) {
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal at %s: %w", Address(options), err)
	}
	return c, nil
}

// Address is where the options look for Temporal.
func Address(options client.Options) string {
	if options.HostPort == "" {
		return client.DefaultHostPort
	}
	return options.HostPort
}

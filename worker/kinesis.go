package main

import (
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"sluice/activities"
	"sluice/internal/connect"
	"sluice/internal/recordbatch"
)

// newKinesis builds the activities that put records, with the producers that
// they share.
func newKinesis(c config, made *clients, store *activities.S3, metrics client.MetricsHandler, logger *zap.Logger) *activities.Kinesis {
	settings := activities.DefaultKinesisSettings()
	settings.Limits = recordbatch.Limits{
		Records: c.Kinesis.BatchSize, RequestBytes: c.Kinesis.RequestBytes, RecordBytes: c.Kinesis.RecordBytes,
	}
	settings.FlushInterval = c.Kinesis.FlushInterval
	settings.BufferRecords = c.Kinesis.BufferSize
	settings.BufferBytes = c.Kinesis.BufferBytes
	settings.MaxConnections = c.Kinesis.MaxConnections
	settings.RequestTimeout = c.Kinesis.RequestTimeout
	return &activities.Kinesis{
		API:      connect.Kinesis(made.aws),
		Objects:  store,
		Letters:  &activities.DeadLetters{S3: made.s3, SQS: made.sqs},
		Marks:    made.temporal,
		Settings: settings,
		Metrics:  metrics,
		Logger:   connect.TemporalLogger(logger),
	}
}

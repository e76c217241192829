package main

import (
	"go.temporal.io/sdk/client"
	"go.uber.org/zap"

	"sluice"
	"sluice/activities/kinesis"
	"sluice/activities/s3"
	"sluice/internal/connect"
	"sluice/internal/recordbatch"
)

// newKinesis builds the activities that put records, with the producers that
// they share.
func newKinesis(c config, made *clients, store *s3.Activities, metrics client.MetricsHandler, logger *zap.Logger) *kinesis.Activities {
	settings := kinesis.DefaultSettings()
	settings.Limits = recordbatch.Limits{
		Records: c.Kinesis.BatchSize, RequestBytes: c.Kinesis.RequestBytes, RecordBytes: c.Kinesis.RecordBytes,
	}
	settings.FlushInterval = c.Kinesis.FlushInterval
	settings.BufferRecords = c.Kinesis.BufferSize
	settings.BufferBytes = c.Kinesis.BufferBytes
	settings.MaxConnections = c.Kinesis.MaxConnections
	settings.RequestTimeout = c.Kinesis.RequestTimeout
	settings.Protocol = c.Kinesis.Protocol
	return &kinesis.Activities{
		API:      sluice.Kinesis(made.aws),
		Objects:  store,
		Letters:  &kinesis.DeadLetters{S3: made.s3, SQS: made.sqs},
		Marks:    made.temporal,
		Settings: settings,
		Metrics:  metrics,
		Logger:   connect.TemporalLogger(logger),
	}
}

package sluice

import (
	"sluice/activities/kinesis"
	"sluice/activities/s3"
	"sluice/internal/connect"
	"sluice/internal/recordbatch"
)

// newKinesis builds the activities that put records, with the producers that
// they share.
func newKinesis(c Config, made *Clients, store *s3.Activities, hooks Hooks) *kinesis.Activities {
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
		API:      Kinesis(made.AWS),
		Objects:  store,
		Letters:  &kinesis.DeadLetters{S3: made.S3, SQS: made.SQS},
		Marks:    made.Temporal,
		Settings: settings,
		Metrics:  hooks.metrics(),
		Logger:   connect.TemporalLogger(hooks.logger()),
	}
}

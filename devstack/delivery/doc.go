// Package delivery stands in for the service that delivers a Kinesis stream to S3
// (Firehose): it reads every shard of a stream, buffers the records by size and
// time, and writes each buffer as one object, its records one after another as
// they came. It follows resharding, delivers at least once, and repeats what
// fails until it works.
//
// It uses nothing but the services' APIs, so it runs against any endpoints.
package delivery

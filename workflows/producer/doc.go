// Package producer is a durable buffer in front of a Kinesis stream. What a batch
// holds is internal/recordbatch's.
package producer

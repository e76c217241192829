// Package kinesis puts records to streams, in batches that all activities of a
// worker share. What goes into a batch, and what an answer means, is
// internal/recordbatch's.
package kinesis

// Package counting consumes the S3 events of a queue and keeps exact counters of
// objects in a table: the activity behind CountObjects. What an event changes is
// internal/s3event's.
package counting

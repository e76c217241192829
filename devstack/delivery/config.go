package delivery

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// Defaults of a delivery. The service's own are 5 MiB and 300 s; a developer does
// not want to wait so long.
const (
	DefaultBufferBytes    = 1 << 20
	DefaultBufferInterval = 5 * time.Second
	// PollInterval is how often a shard without news is asked, as the service does.
	PollInterval = time.Second
)

// Config is one stream and where its records go. An object's key is
// <Prefix>yyyy/mm/dd/hh/<Stream>-<time>-<number>, in UTC.
type Config struct {
	Stream, Bucket, Prefix string
	BufferBytes            int
	BufferInterval         time.Duration
	// PollInterval 0 is the default.
	PollInterval time.Duration
	// Checkpoint is a file that keeps what was delivered from one run to the
	// next; without it a run begins with the oldest record.
	Checkpoint string
}

func (c Config) complete() (Config, error) {
	var errs []error
	if c.Stream == "" {
		errs = append(errs, errors.New("stream is required"))
	}
	if c.Bucket == "" {
		errs = append(errs, errors.New("bucket is required"))
	}
	if c.BufferBytes < 0 || c.BufferInterval < 0 {
		errs = append(errs, fmt.Errorf("buffer of %d bytes, %s: neither can be negative", c.BufferBytes, c.BufferInterval))
	}
	if c.BufferBytes == 0 {
		c.BufferBytes = DefaultBufferBytes
	}
	if c.BufferInterval == 0 {
		c.BufferInterval = DefaultBufferInterval
	}
	if c.PollInterval == 0 {
		c.PollInterval = PollInterval
	}
	return c, errors.Join(errs...)
}

// Streams is what a delivery asks of Kinesis.
type Streams interface {
	ListShards(context.Context, *kinesis.ListShardsInput, ...func(*kinesis.Options)) (*kinesis.ListShardsOutput, error)
	GetShardIterator(context.Context, *kinesis.GetShardIteratorInput, ...func(*kinesis.Options)) (*kinesis.GetShardIteratorOutput, error)
	GetRecords(context.Context, *kinesis.GetRecordsInput, ...func(*kinesis.Options)) (*kinesis.GetRecordsOutput, error)
}

// Objects is what it asks of S3.
type Objects interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
}

// Clients of the services.
type Clients struct {
	Streams Streams
	Objects Objects
}

// Status is how far a delivery is.
type Status struct {
	Stream   string `json:"stream"`
	Bucket   string `json:"bucket"`
	Prefix   string `json:"prefix"`
	Shards   int    `json:"shards"`
	Records  int    `json:"records"` // delivered
	Objects  int    `json:"objects"`
	Buffered int    `json:"buffered"` // records
	// LastError is of the last call if that failed.
	LastError string `json:"lastError,omitempty"`
}

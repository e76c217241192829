package kinesis

import (
	"context"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awskinesis "github.com/aws/aws-sdk-go-v2/service/kinesis"

	"sluice/activities/awscall"
	"sluice/internal/recordbatch"
)

// streamName names a stream as the caller did; either may be empty.
type streamName struct{ name, arn string }

// String is the stream's plain name.
func (n streamName) String() string {
	if n.name != "" {
		return n.name
	}
	return n.arn[strings.LastIndexByte(n.arn, '/')+1:]
}

// same says that both are sure to name the same stream.
func (n streamName) same(o streamName) bool {
	if n.arn != "" && o.arn != "" {
		return n.arn == o.arn
	}
	return n == o
}

// streams are a worker's producers, one a stream, however it is named.
type streams struct {
	naming sync.Mutex // held while a name gets its producer
	mu     sync.Mutex
	known  map[streamName]*stream
}

// find is the producer of that name, or nil. It also says whether another of the
// same plain name may be the same stream's.
func (s *streams) find(n streamName) (found *stream, hasNamesake bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if found = s.known[n]; found != nil {
		return found, false
	}
	for other, stream := range s.known {
		if other.same(n) {
			return stream, false
		}
		hasNamesake = hasNamesake || other.String() == n.String() && (other.arn == "" || n.arn == "")
	}
	return nil, hasNamesake
}

func (s *streams) add(n streamName, made *stream) *stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		s.known = map[streamName]*stream{}
	}
	s.known[n] = made
	return made
}

// stream is the worker's producer for a stream, made when it is first needed.
// It costs nothing while it is idle.
func (k *Activities) stream(ctx context.Context, n streamName) (*stream, error) {
	s, _ := k.streams.find(n)
	if s == nil {
		var err error
		if s, err = k.name(ctx, n); err != nil {
			return nil, err
		}
	}
	return s, s.prepare(ctx)
}

// name gives a new name its producer: that of its namesake, if the service says that
// they are one stream. A stream of another account or region may have the same name.
func (k *Activities) name(ctx context.Context, n streamName) (*stream, error) {
	k.streams.naming.Lock()
	defer k.streams.naming.Unlock()
	s, hasNamesake := k.streams.find(n)
	if s != nil {
		return s, nil
	}
	if hasNamesake {
		own, err := k.ownARN(ctx, n.String())
		if err != nil {
			return nil, err
		}
		one := streamName{arn: own}
		if n.arn != "" && n.arn == own {
			one = streamName{name: n.String()}
		}
		if s, _ = k.streams.find(one); s != nil && own != "" && (n.arn == "" || n.arn == own) {
			return k.streams.add(n, s), nil
		}
	}
	return k.streams.add(n, newStream(k, n)), nil
}

// ownARN is the ARN of the stream of that name in the worker's own account and region;
// "" where it may not be asked for, or there is none.
func (k *Activities) ownARN(ctx context.Context, name string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, k.Settings.RequestTimeout)
	defer cancel()
	summary, err := k.API.DescribeStreamSummary(ctx, &awskinesis.DescribeStreamSummaryInput{StreamName: &name})
	if err == nil && summary.StreamDescriptionSummary != nil {
		return aws.ToString(summary.StreamDescriptionSummary.StreamARN), nil
	}
	outcome := outcomeOf(err)
	if outcome.Kind != recordbatch.Denied {
		return "", awscall.Failure("Kinesis.DescribeStreamSummary", name, err)
	}
	k.Logger.Warn("whether the stream "+name+" is the one of that ARN can't be found out: each has a producer of its own",
		"code", outcome.Code, "error", outcome.Message)
	return "", nil
}

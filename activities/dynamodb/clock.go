package dynamodb

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	awsdynamodb "github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// service is the service as calls reach it: the client, and the service's
// own time as its answers tell it.
type service struct {
	client *awsdynamodb.Client

	asking chan struct{} // holds one while the time is asked for

	mu   sync.Mutex
	date time.Time // of the last answer's Date header
	at   time.Time // when it came
}

// heard takes the Date header of an answer that came at an instant.
func (s *service) heard(header string, at time.Time) {
	date, err := http.ParseTime(header)
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.date, s.at = date, at
}

// now is the service's time; the zero time before its first answer. It is behind
// by the header's fraction of a second and the answer's way. What has passed since
// the answer is measured and not read from a clock, which may be set meanwhile.
func (s *service) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.at.IsZero() {
		return time.Time{}
	}
	return s.date.Add(time.Since(s.at))
}

// askTime is now; it makes the service answer something, whatever that is, where
// it has not answered yet.
func (s *service) askTime(ctx context.Context, table string) (time.Time, error) {
	if now := s.now(); !now.IsZero() {
		return now, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return time.Time{}, ctx.Err()
	}
	if now := s.now(); !now.IsZero() {
		return now, nil // another call has asked meanwhile
	}
	_, err := s.send(ctx, "DescribeTable", []string{table}, encode(map[string]string{"TableName": table}, nil))
	now := s.now()
	switch {
	case !now.IsZero():
		return now, nil
	case err == nil:
		err = errors.New("its answer has no Date header")
	}
	return time.Time{}, err
}

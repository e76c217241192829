package delivery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/kinesis"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// A Request asks for a delivery. Bucket and queue are made if they aren't there.
type Request struct {
	Stream string `json:"stream"`
	Bucket string `json:"bucket"`
	Prefix string `json:"prefix,omitempty"`
	// Notifications is the name of the SQS queue to which the bucket announces the
	// objects under Prefix; "" is none.
	Notifications  string `json:"notifications,omitempty"`
	BufferBytes    int    `json:"bufferBytes,omitempty"`
	BufferInterval string `json:"bufferInterval,omitempty"`
}

// A Manager runs deliveries, one a stream.
type Manager struct {
	Kinesis *kinesis.Client
	S3      *s3.Client
	SQS     *sqs.Client
	// Checkpoints is the directory in which deliveries keep their progress; ""
	// keeps none.
	Checkpoints string

	mu      sync.Mutex
	running map[string]*Delivery
}

// Add starts a delivery and answers the URL of its notifications queue. A stream
// that is delivered already is delivered anew as asked.
func (m *Manager) Add(ctx context.Context, r Request) (string, error) {
	cfg := Config{Stream: r.Stream, Bucket: r.Bucket, Prefix: r.Prefix, BufferBytes: r.BufferBytes}
	if r.BufferInterval != "" {
		interval, err := time.ParseDuration(r.BufferInterval)
		if err != nil {
			return "", fmt.Errorf("bufferInterval: %w", err)
		}
		cfg.BufferInterval = interval
	}
	if m.Checkpoints != "" {
		cfg.Checkpoint = filepath.Join(m.Checkpoints, r.Stream+".json")
	}
	if _, err := cfg.complete(); err != nil {
		return "", err
	}
	if err := MakeBucket(ctx, m.S3, r.Bucket); err != nil {
		return "", err
	}
	url := ""
	if r.Notifications != "" {
		var err error
		if url, err = Announce(ctx, m.S3, m.SQS, r.Bucket, r.Prefix, r.Notifications); err != nil {
			return "", err
		}
	}
	m.Remove(r.Stream)
	d, err := Start(cfg, Clients{m.Kinesis, m.S3})
	if err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.running == nil {
		m.running = map[string]*Delivery{}
	}
	m.running[r.Stream] = d
	return url, nil
}

// MakeBucket makes a bucket if it isn't there.
func MakeBucket(ctx context.Context, client *s3.Client, bucket string) error {
	if _, err := client.HeadBucket(ctx, &s3.HeadBucketInput{Bucket: &bucket}); err == nil {
		return nil
	}
	_, err := client.CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket})
	var mine *s3types.BucketAlreadyOwnedByYou
	if errors.As(err, &mine) {
		return nil
	}
	return err
}

// Announce makes a queue to which a bucket announces what is written and removed
// under a prefix, and answers the queue's URL. It replaces earlier rules.
func Announce(ctx context.Context, objects *s3.Client, queues *sqs.Client, bucket, prefix, queue string) (string, error) {
	made, err := queues.CreateQueue(ctx, &sqs.CreateQueueInput{QueueName: &queue})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", queue, err)
	}
	attributes, err := queues.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{QueueUrl: made.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{"QueueArn"}})
	if err != nil {
		return "", fmt.Errorf("queue %s: %w", queue, err)
	}
	rule := s3types.QueueConfiguration{
		QueueArn: aws.String(attributes.Attributes["QueueArn"]),
		Events:   []s3types.Event{"s3:ObjectCreated:*", "s3:ObjectRemoved:*"},
	}
	if prefix != "" {
		rule.Filter = &s3types.NotificationConfigurationFilter{Key: &s3types.S3KeyFilter{FilterRules: []s3types.FilterRule{{Name: s3types.FilterRuleNamePrefix, Value: &prefix}}}}
	}
	_, err = objects.PutBucketNotificationConfiguration(ctx, &s3.PutBucketNotificationConfigurationInput{Bucket: &bucket,
		NotificationConfiguration: &s3types.NotificationConfiguration{QueueConfigurations: []s3types.QueueConfiguration{rule}}})
	if err != nil {
		return "", fmt.Errorf("notifications of bucket %s: %w", bucket, err)
	}
	return *made.QueueUrl, nil
}

// Remove ends the delivery of a stream, if there is one, and delivers its buffer.
func (m *Manager) Remove(stream string) {
	m.mu.Lock()
	d := m.running[stream]
	delete(m.running, stream)
	m.mu.Unlock()
	if d != nil {
		d.Stop(lastAttempts)
	}
}

// Stop ends all deliveries.
func (m *Manager) Stop(grace time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	var all sync.WaitGroup
	for _, d := range m.running {
		all.Go(func() { d.Stop(grace) })
	}
	all.Wait()
}

// Status of all deliveries, by stream.
func (m *Manager) Status() []Status {
	m.mu.Lock()
	defer m.mu.Unlock()
	list := []Status{}
	for _, stream := range slices.Sorted(maps.Keys(m.running)) {
		list = append(list, m.running[stream].Status())
	}
	return list
}

// ServeHTTP answers GET with Status, POST by Add, and DELETE ?stream= by Remove.
func (m *Manager) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any = struct{}{}
	switch r.Method {
	case http.MethodGet:
		answer = m.Status()
	case http.MethodPost:
		var request Request
		decoder := json.NewDecoder(r.Body)
		decoder.DisallowUnknownFields()
		err := decoder.Decode(&request)
		var url string
		if err == nil {
			url, err = m.Add(r.Context(), request)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		answer = map[string]string{"notifications": url}
	case http.MethodDelete:
		m.Remove(r.URL.Query().Get("stream"))
	default:
		http.Error(w, "GET, POST or DELETE", http.StatusMethodNotAllowed)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// ParseRequest reads "stream=s,bucket=b,prefix=p,notifications=q,size=1048576,interval=5s".
func ParseRequest(text string) (Request, error) {
	var r Request
	for _, pair := range strings.Split(text, ",") {
		name, value, _ := strings.Cut(pair, "=")
		switch name {
		case "stream":
			r.Stream = value
		case "bucket":
			r.Bucket = value
		case "prefix":
			r.Prefix = value
		case "notifications":
			r.Notifications = value
		case "size":
			if _, err := fmt.Sscan(value, &r.BufferBytes); err != nil {
				return r, fmt.Errorf("size %q: %w", value, err)
			}
		case "interval":
			r.BufferInterval = value
		default:
			return r, fmt.Errorf("delivery %q: %q is none of stream, bucket, prefix, notifications, size, interval", text, name)
		}
	}
	return r, nil
}

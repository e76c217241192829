package ingest

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"sluice/activities"
	"sluice/activities/s3"
)

// store is as much of S3 as lists, gives and takes objects, under "<bucket>/<key>".
type store struct {
	mu      sync.Mutex
	objects map[string]string
	ages    map[string]time.Duration // since they were written; 0: now
	broken  map[string]error         // when opened
	opened  []s3.Object
}

func newStore(t *testing.T, objects map[string]string) (*store, *awss3.Client) {
	t.Helper()
	s := &store{objects: objects, ages: map[string]time.Duration{}, broken: map[string]error{}}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	return s, awss3.New(awss3.Options{
		BaseEndpoint: aws.String(server.URL), UsePathStyle: true, Region: "eu-west-1", Retryer: aws.NopRetryer{},
		Credentials:                credentials.NewStaticCredentialsProvider("id", "key", ""),
		RequestChecksumCalculation: aws.RequestChecksumCalculationWhenRequired,
	})
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	name := strings.TrimPrefix(r.URL.Path, "/")
	switch {
	case r.Method == http.MethodPut:
		raw, err := io.ReadAll(r.Body)
		if err == nil {
			s.objects[name] = string(raw)
		}
	case r.URL.Query().Has("list-type"):
		s.list(w, strings.TrimSuffix(name, "/")+"/", r.URL.Query().Get("prefix"), r.URL.Query().Get("continuation-token"))
	default:
		body, there := s.objects[name]
		if !there {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
			return
		}
		_, _ = io.WriteString(w, body)
	}
}

// list answers with one object a page.
func (s *store) list(w io.Writer, bucket, prefix, after string) {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.objects)) {
		if key, in := strings.CutPrefix(name, bucket); in && strings.HasPrefix(key, prefix) && key > after {
			names = append(names, key)
		}
	}
	fmt.Fprintf(w, "<ListBucketResult><IsTruncated>%v</IsTruncated>", len(names) > 1)
	if len(names) > 0 {
		written := time.Now().Add(-s.ages[bucket+names[0]]).UTC().Format(time.RFC3339)
		fmt.Fprintf(w, "<NextContinuationToken>%s</NextContinuationToken><Contents><Key>%s</Key><ETag>&quot;e&quot;</ETag><Size>%d</Size><LastModified>%s</LastModified></Contents>",
			names[0], names[0], len(s.objects[bucket+names[0]]), written)
	}
	fmt.Fprint(w, "</ListBucketResult>")
}

// OpenObject has the store read as activities do.
func (s *store) OpenObject(_ context.Context, o s3.Object, _ int64) (io.ReadCloser, s3.Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.opened = append(s.opened, o)
	name := o.Bucket + "/" + o.Key
	if err := s.broken[name]; err != nil {
		return nil, o, err
	}
	body, there := s.objects[name]
	if !there {
		return nil, o, activities.Fail(activities.TypeNotFound, activities.Failure{Message: "no " + name})
	}
	return io.NopCloser(strings.NewReader(body)), o, nil
}

package quiescence_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"sluice/tests/harness"
)

// 100,000 objects under a prefix, on the emulator behind the guard: the history
// is that of one object. `make soak-quiescence`; it takes some minutes.
func TestHundredThousandObjects(t *testing.T) {
	if os.Getenv("SLUICE_LARGE") != "1" {
		t.Skip("takes minutes: make soak-quiescence")
	}
	const objects = 100_000
	s := harness.Start(t)
	s.StartWorker()
	landing := s.NewBucket()
	began := time.Now()
	fill(t, s, landing, "in/", 0, objects)
	t.Logf("%d objects written in %s", objects, time.Since(began).Round(time.Second))

	small, large := s.Name("small"), s.Name("large")
	put(t, s, landing, "one/only", "1")
	const rule = `"repeats":1,"delay":{"base":"2s"}` // a listing takes the emulator half a minute, far more under load
	few := watch(t, s, small, fmt.Sprintf(`{"source":{"s3":{"bucket":%q,"prefix":"one/"}},%s}`, landing, rule))
	began = time.Now()
	many := watch(t, s, large, fmt.Sprintf(`{"source":{"s3":{"bucket":%q,"prefix":"in/"}},%s}`, landing, rule))
	harness.AwaitFor(t, 20*time.Minute, "the first poll", func(context.Context) error {
		if st := live(t, s, large); st.Polls == 0 {
			return fmt.Errorf("%+v", st)
		}
		return nil
	})
	t.Logf("first poll after %s", time.Since(began).Round(100*time.Millisecond))
	put(t, s, landing, "in/late", "1")
	r := resultOf(t, many)
	require.Equal(t, "quiet", r.Reason)
	require.EqualValues(t, objects+1, r.Count)
	require.Equal(t, "quiet", resultOf(t, few).Reason)
	smallEvents, smallBytes := history(t, s, small)
	largeEvents, largeBytes := history(t, s, large)
	t.Logf("%d polls in %s; history of one object: %d events, %d bytes; of %d: %d events, %d bytes",
		r.Polls, r.FinishedAt.Sub(began).Round(time.Second), smallEvents, smallBytes, objects+1, largeEvents, largeBytes)
	require.LessOrEqual(t, largeEvents, smallEvents+14, "two reports more at most, for the late object")
	require.Less(t, largeBytes, smallBytes+8<<10)
}

// fill writes objects in parallel.
func fill(t *testing.T, s *harness.Stack, bucket, prefix string, from, to int) {
	t.Helper()
	numbers := make(chan int)
	var writers sync.WaitGroup
	for range 32 {
		writers.Go(func() {
			for n := range numbers {
				key := fmt.Sprintf("%spart-%06d", prefix, n)
				if _, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: strings.NewReader(key)}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := from; n < to; n++ {
		numbers <- n
	}
	close(numbers)
	writers.Wait()
}

// history is the length of a run's history, in events and in bytes of their
// attributes as they travel.
func history(t *testing.T, s *harness.Stack, id string) (events, bytes int) {
	t.Helper()
	all := s.Client.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for all.HasNext() {
		event, err := all.Next()
		require.NoError(t, err)
		events++
		bytes += event.Size()
	}
	return events, bytes
}

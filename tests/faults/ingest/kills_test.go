// Package ingest_test kills workers and the Temporal server in the middle of the
// main job and looks whether anything was lost or done twice.
package ingest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"sluice/tests/harness"
	"sluice/workflows/ingest"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	objects     = 12
	recordsEach = 300
	seed        = 20260102 // of the times between kills, so that a failure can be looked at again
	// serverEvery is how many kills of workers there are to one of the server.
	serverEvery = 10
)

// kills is how often workers are killed: a few in every run of the tests, 200 by
// `make soak`.
func kills(t *testing.T) int {
	text := os.Getenv("SLUICE_SOAK_KILLS")
	if text == "" {
		return 5
	}
	n, err := strconv.Atoi(text)
	require.NoError(t, err, "SLUICE_SOAK_KILLS")
	return n
}

// TestIngestUnderKills runs ingestions until so many workers, and a tenth as
// many servers, have been killed: no record is missing, no job is dispatched
// again after it reported success, every request ends COMPLETE.
func TestIngestUnderKills(t *testing.T) {
	t.Parallel()
	s := harness.Start(t, harness.Options{Own: true, Args: []string{"--demo", "--data", t.TempDir()}})
	s.Starter("setup").OK(t)
	prefix := fill(t, s)
	random := rand.New(rand.NewPCG(seed, 0))
	toKill := kills(t)
	workers := []*harness.Worker{s.StartWorker(), s.StartWorker()}
	killed, restarts := 0, 0
	for round := 0; round == 0 || killed < toKill; round++ {
		id := fmt.Sprintf("ingest/kills-%d", round)
		start(t, s, id, prefix)
		for killed < toKill && !ended(t, s, id) {
			// The time between two kills is what is tried here, not a wait.
			time.Sleep(time.Duration(1000+random.IntN(3000)) * time.Millisecond)
			victim := killed % len(workers)
			workers[victim].Kill()
			killed++
			if killed%serverEvery == serverEvery/2 {
				s.RestartTemporal()
				restarts++
			}
			workers[victim] = s.StartWorker()
		}
		result := await(t, s, id)
		t.Logf("round %d: %d workers and %d servers killed so far; %+v", round, killed, restarts, result)
		require.Zero(t, result.Missing)
		require.EqualValues(t, objects*recordsEach, result.Delivered)
		require.EqualValues(t, objects, result.Tasks)
		requestsAreRight(t, s, result.Run)
	}
}

// fill puts the objects and returns their prefix.
func fill(t *testing.T, s *harness.Stack) string {
	bucket := s.Env("SLUICE_DEMO_BUCKET")
	for o := range objects {
		var body bytes.Buffer
		for r := range recordsEach {
			fmt.Fprintf(&body, `{"object":%d,"record":%d,"text":"%s"}`+"\n", o, r, strings.Repeat("x", 500))
		}
		key := fmt.Sprintf("kills/%d.jsonl", o)
		_, err := s.S3.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(body.Bytes())})
		require.NoError(t, err)
	}
	return "kills/"
}

func start(t *testing.T, s *harness.Stack, id, prefix string) {
	input, err := json.Marshal(map[string]any{
		"bucket": s.Env("SLUICE_DEMO_BUCKET"), "prefix": prefix, "queue": s.Env("SLUICE_DEMO_QUEUE"), "stream": s.Env("SLUICE_DEMO_STREAM"),
		"table":    s.Env("SLUICE_DEMO_TABLE"),
		"delivery": map[string]string{"bucket": s.Env("SLUICE_DEMO_DELIVERY_BUCKET"), "notifications": s.Env("SLUICE_DEMO_NOTIFICATIONS")},
		"quiet":    map[string]any{"repeats": 4, "delay": map[string]any{"base": "2s"}},
	})
	require.NoError(t, err)
	s.StarterWith(string(input), "ingest", "run", "--id", id, "-f", "-").OK(t)
}

func ended(t *testing.T, s *harness.Stack, id string) bool {
	described, err := s.Client.DescribeWorkflow(t.Context(), id, "")
	return err == nil && described.Status != enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
}

func await(t *testing.T, s *harness.Stack, id string) (result ingest.Result) {
	harness.AwaitFor(t, 5*time.Minute, id+" ends", func(ctx context.Context) error {
		described, err := s.Client.DescribeWorkflow(ctx, id, "")
		if err != nil {
			return err
		}
		if described.Status == enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING {
			return fmt.Errorf("it is running")
		}
		return s.Client.GetWorkflow(ctx, id, "").Get(ctx, &result)
	})
	return result
}

// requestsAreRight: every request of the run is COMPLETE, and none of its jobs
// was scheduled after it had completed.
func requestsAreRight(t *testing.T, s *harness.Stack, run string) {
	query := fmt.Sprintf("WorkflowType = 'Request' AND WorkflowId STARTS_WITH 'task/%s-'", run)
	found := 0
	harness.Await(t, "all requests are listed", func(ctx context.Context) error {
		listed, err := s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Query: query, PageSize: 2 * objects})
		if err != nil {
			return err
		}
		if found = len(listed.GetExecutions()); found != objects {
			return fmt.Errorf("%d requests for %d objects", found, objects)
		}
		for _, e := range listed.GetExecutions() {
			if e.GetStatus() != enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED {
				return fmt.Errorf("%s is %s", e.GetExecution().GetWorkflowId(), e.GetStatus())
			}
			oneSuccessAJob(t, s, e.GetExecution().GetWorkflowId())
		}
		return nil
	})
}

func oneSuccessAJob(t *testing.T, s *harness.Stack, id string) {
	job := map[int64]string{} // by the event that scheduled it
	done := map[string]bool{}
	events := s.Client.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		if a := event.GetActivityTaskScheduledEventAttributes(); a != nil {
			name, _, _ := strings.Cut(a.GetActivityId(), "/")
			require.False(t, done[name], "%s: job %s was dispatched again after its success", id, name)
			job[event.GetEventId()] = name
		}
		if a := event.GetActivityTaskCompletedEventAttributes(); a != nil {
			done[job[a.GetScheduledEventId()]] = true
		}
	}
	require.Len(t, done, 3, id)
}

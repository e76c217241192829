package quiescence_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"

	"sluice/tests/harness"
)

// Every end of a watch that is not quiet, with its history.
func TestEndsOfAWatch(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	landing := s.NewBucket()
	put(t, s, landing, "in/a", "1")
	put(t, s, landing, "in/b", "2")
	source := fmt.Sprintf(`"source":{"s3":{"bucket":%q,"prefix":"in/"}}`, landing)
	const unhurried = `"repeats":1000,"delay":{"base":"200ms"}`

	for name, c := range map[string]struct {
		document, reason string
		count            int64
	}{
		"deadline": {`{` + source + `,` + unhurried + `,"deadline":"5s"}`, "deadline", 2},
		"too-few":  {`{` + source + `,"repeats":2,"delay":{"base":"200ms"},"minRecords":5,"deadline":"5s"}`, "deadline", 2},
		"expected": {`{` + source + `,` + unhurried + `,"expected":2}`, "expected", 2},
		"not-started": {fmt.Sprintf(`{"source":{"s3":{"bucket":%q,"prefix":"none/"}},%s,"startTimeout":"5s"}`, landing, unhurried),
			"notStarted", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := s.Name("watch")
			r := resultOf(t, watch(t, s, id, c.document))
			require.Equal(t, c.reason, r.Reason)
			require.Equal(t, c.count, r.Count)
			require.Positive(t, r.Polls)
			s.Record(id, "Quiescence", name)
		})
	}

	t.Run("cancelled", func(t *testing.T) {
		t.Parallel()
		id := s.Name("watch")
		run := watch(t, s, id, `{`+source+`,`+unhurried+`}`)
		awaitPhase(t, s, id, "SETTLING")
		require.NoError(t, s.Client.CancelWorkflow(t.Context(), id, ""))
		require.ErrorContains(t, run.Get(t.Context(), nil), "canceled")
		requireClosed(t, s, id, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED)
		s.Record(id, "Quiescence", "cancelled")
	})

	t.Run("deletion", func(t *testing.T) {
		t.Parallel()
		own := s.NewBucket()
		put(t, s, own, "a", "1")
		put(t, s, own, "b", "2")
		id := s.Name("watch")
		run := watch(t, s, id, fmt.Sprintf(`{"source":{"s3":{"bucket":%q,"onDelete":"fail"}},%s}`, own, unhurried))
		awaitPhase(t, s, id, "SETTLING")
		_, err := s.S3.DeleteObject(t.Context(), &s3.DeleteObjectInput{Bucket: &own, Key: new("a")})
		require.NoError(t, err)
		err = run.Get(t.Context(), nil)
		require.ErrorContains(t, err, "objects that were there are gone")
		require.ErrorContains(t, err, "Conflict")
		s.Record(id, "Quiescence", "deletion")
	})

	t.Run("signals", func(t *testing.T) {
		t.Parallel()
		id := s.Name("watch")
		run := watch(t, s, id, `{"source":{"signal":{}},"repeats":1000,"delay":{"base":"1s"}}`)
		s.Temporal("workflow", "signal", "--workflow-id", id, "--name", "observed", "--input", `{"count":"many"}`).OK(t)
		s.Temporal("workflow", "signal", "--workflow-id", id, "--name", "observed", "--input", `{"count":3}`).OK(t)
		awaitStatus(t, s, id, "counts", func(st status) bool { return st.Count == 3 })
		var st status
		update(t, s, id, "tune", `{"deadline":"1500ms"}`, &st)
		r := resultOf(t, run)
		require.Equal(t, "deadline", r.Reason)
		require.EqualValues(t, 3, r.Count)
		s.Record(id, "Quiescence", "signals-tuned-to-a-deadline")
	})

	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		id := s.Name("watch")
		run := watch(t, s, id, `{"source":{"signal":{}},"then":[{"http":{"url":"https://example.com/","auth":"two words"}}]}`)
		err := run.Get(t.Context(), nil)
		require.ErrorContains(t, err, "InvalidInput")
		require.ErrorContains(t, err, "then[0].http.auth: not the name of credentials")
		s.Record(id, "Quiescence", "refused")
	})
}

func requireClosed(t *testing.T, s *harness.Stack, id string, want enumspb.WorkflowExecutionStatus) {
	t.Helper()
	described, err := s.Client.DescribeWorkflow(t.Context(), id, "")
	require.NoError(t, err)
	require.Equal(t, want, described.RawResponse.GetWorkflowExecutionInfo().GetStatus())
}

// A worker that stops hands its watch over at once, with what it saw: the other
// goes on long before a lost worker would be noticed.
func TestStoppedWorkerHandsItsWatchOver(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	first := s.StartWorker()
	landing := s.NewBucket()
	put(t, s, landing, "a", "1")
	id := s.Name("watch")
	run := watch(t, s, id, fmt.Sprintf(`{"source":{"s3":{"bucket":%q}},"repeats":12,"delay":{"base":"300ms"}}`, landing))
	before := awaitLive(t, s, id, "settles", func(st status) bool { return st.Repeats >= 2 })
	s.StartWorker()
	require.Zero(t, first.Stop(t))
	r := resultOf(t, run)
	require.Equal(t, "quiet", r.Reason)
	require.GreaterOrEqual(t, r.Polls, before.Polls)
	require.EqualValues(t, 13, r.Polls, "no repeat was lost")
	s.Record(id, "Quiescence", "worker-stopped")
}

// The two first examples of docs/quiescence.md, as typed but for the names.
func TestFirstExamplesOfTheDocumentation(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	landing, url, counts := s.NewBucket(), s.NewQueue(nil), s.NewTable(harness.Table{})
	put(t, s, landing, "a", "1")
	id, began := s.Name("landing-quiet"), time.Now()
	s.Temporal("workflow", "start", "--type", "Quiescence", "--task-queue", s.TaskQueue, "--workflow-id", id,
		"--input", fmt.Sprintf(`{"source":{"s3":{"bucket":"%s"}},"repeats":3,"delay":{"base":"1s"}}`, landing)).OK(t)
	s.Starter("count", "run", "--queue-url", url, "--table", counts).OK(t)
	send(t, s, url, records(record("ObjectCreated:Put", "landing", "k", "01")))
	out := s.Starter("quiescence", "run", "--table", counts, "--counter", "landing", "--repeats", "2", "--delay", "1s", "--wait").OK(t)
	var r result
	require.NoError(t, json.Unmarshal([]byte(out.Stdout), &r))
	require.Equal(t, "quiet", r.Reason)
	require.EqualValues(t, 1, r.Count)
	var st countStatus
	update(t, s, "count/"+nameOf(url), "stop", `{}`, &st)
	require.Equal(t, "quiet", resultOf(t, s.Client.GetWorkflow(t.Context(), id, "")).Reason)
	require.WithinRange(t, r.FinishedAt, began, time.Now())
}

package quiescence_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/stretchr/testify/require"

	"sluice/tests/harness"
)

// setCount writes a counter as anybody might.
func setCount(t *testing.T, s *harness.Stack, table string, n int) {
	t.Helper()
	setCountOf(t, s, table, "landing", n)
}

func setCountOf(t *testing.T, s *harness.Stack, table, id string, n int) {
	t.Helper()
	_, err := s.DynamoDB.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: map[string]types.AttributeValue{
		"id": &types.AttributeValueMemberS{Value: id}, "num_records": &types.AttributeValueMemberN{Value: fmt.Sprint(n)},
	}})
	require.NoError(t, err)
}

func counterSource(table string) string {
	return fmt.Sprintf(`"source":{"dynamodb":{"table":%q,"key":{"id":{"S":"landing"}}}}`, table)
}

// live is what the starter tells of a watch, polls since the last report included.
func live(t *testing.T, s *harness.Stack, id string) status {
	t.Helper()
	out := s.Starter("quiescence", "status", id)
	var st status
	require.NoErrorf(t, json.Unmarshal([]byte(out.Stdout), &st), "%+v", out)
	return st
}

func awaitLive(t *testing.T, s *harness.Stack, id, what string, check func(status) bool) status {
	t.Helper()
	var st status
	harness.Await(t, id+" "+what, func(context.Context) error {
		if st = live(t, s, id); !check(st) {
			return fmt.Errorf("status %+v", st)
		}
		return nil
	})
	return st
}

// The updates reach a polling activity that waits inside, and what it saw is kept.
func TestTuneFinishStopReachThePollingActivity(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	counts := s.NewTable(harness.Table{})
	setCount(t, s, counts, 3)
	started := s.Starter("quiescence", "run", "--id", s.Name("watch"), "--table", counts, "--counter", "landing",
		"--repeats", "1000", "--delay", "500ms").OK(t)
	var ids struct{ WorkflowID string }
	require.NoError(t, json.Unmarshal([]byte(started.Stdout), &ids))
	id := ids.WorkflowID

	before := awaitLive(t, s, id, "has polled a few times", func(st status) bool { return st.Repeats >= 3 })
	require.EqualValues(t, 3, before.Count)
	require.Equal(t, "SETTLING", before.Phase)
	s.Starter("quiescence", "status", id).Exits(t, 3)

	tuned := s.Starter("quiescence", "tune", id, "--repeats", "2").OK(t)
	require.Contains(t, tuned.Stdout, `"repeatsNeeded": 2`)
	awaitStatus(t, s, id, "DONE", func(st status) bool { return st.Phase == "DONE" })
	r := statusOf(t, s, id).Result
	require.Equal(t, "quiet", r.Reason)
	require.GreaterOrEqual(t, r.Polls, before.Polls, "what was seen stays")
	s.Starter("quiescence", "status", id).OK(t)
	s.Record(id, "Quiescence", "tuned")

	for verb, want := range map[string]struct {
		reason string
		code   int
	}{"finish": {"forced", 0}, "stop": {"stopped", 1}} {
		id := s.Name("watch")
		run := watch(t, s, id, `{`+counterSource(counts)+`,"repeats":1000,"delay":{"base":"1m"}}`)
		awaitLive(t, s, id, "has polled", func(st status) bool { return st.Polls > 0 })
		out := s.Starter("quiescence", verb, id, "--reason", "the producers say so").OK(t)
		var st status
		require.NoError(t, json.Unmarshal([]byte(out.Stdout), &st))
		require.Equal(t, "DONE", st.Phase)
		require.Equal(t, want.reason, st.Result.Reason)
		require.Equal(t, "the producers say so", st.Result.Note)
		r := resultOf(t, run)
		require.Equal(t, want.reason, r.Reason)
		require.EqualValues(t, 3, r.Count, "the activity handed back what it saw")
		s.Starter("quiescence", "status", id).Exits(t, want.code)
		s.Record(id, "Quiescence", want.reason)
	}
}

// Killed and stopped workers cost time, never what was seen.
func TestWatchOutlivesItsWorkers(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	worker := s.StartWorker()
	counts := s.NewTable(harness.Table{})
	setCount(t, s, counts, 3)
	id := s.Name("watch")
	run := watch(t, s, id, `{`+counterSource(counts)+`,"repeats":100000,"delay":{"base":"300ms"}}`)
	st := awaitLive(t, s, id, "settles", func(st status) bool { return st.Repeats >= 3 })
	worker.Kill()
	worker = s.StartWorker()
	st = awaitLive(t, s, id, "goes on", func(now status) bool { return now.Polls > st.Polls })
	require.Greater(t, st.Repeats, 3, "the repeats before the kill count")
	require.Zero(t, worker.Stop(t))
	s.StartWorker()
	s.Starter("quiescence", "tune", id, "--repeats", "20").OK(t)
	r := resultOf(t, run)
	require.Equal(t, "quiet", r.Reason)
	require.GreaterOrEqual(t, r.Polls, int64(21))
	s.Record(id, "Quiescence", "killed")
}

// Failed polls, of all kinds, neither raise nor reset the repeats.
func TestCaseQ02FailingPollsOnTheStack(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	landing := s.NewBucket()
	put(t, s, landing, "a", "1")
	for _, fault := range []harness.Fault{
		{Status: 503, Code: "SlowDown"}, {Status: 500, Code: "InternalError"}, {Drop: "answer"}, {Status: 403, Code: "AccessDenied"},
	} {
		fault.Service, fault.Operation, fault.Target, fault.From, fault.Count = harness.S3, "ListObjectsV2", landing, 3, 6
		t.Run(fault.Code+fault.Drop, func(t *testing.T) {
			added := s.Guard.Inject(t, fault)
			defer s.Guard.Clear(t, added)
			run := watch(t, s, s.Name("watch"), fmt.Sprintf(`{"source":{"s3":{"bucket":%q}},"repeats":3,"delay":{"base":"200ms"}}`, landing))
			r := resultOf(t, run)
			require.Equal(t, "quiet", r.Reason)
			require.EqualValues(t, 4, r.Polls)
			require.Positive(t, r.FailedPolls)
		})
	}
}

// Polls that hang for eight seconds are answered, and count for nothing.
func TestPollsThatHangAreNoQuietTimeOnTheStack(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	landing, counts, url := s.NewBucket(), s.NewTable(harness.Table{}), s.NewQueue(nil)
	put(t, s, landing, "a", "1")
	setCount(t, s, counts, 3)
	for source, fault := range map[string]harness.Fault{
		fmt.Sprintf(`"source":{"s3":{"bucket":%q}}`, landing): {Service: harness.S3, Operation: "ListObjectsV2", Target: landing, Latency: "8s"},
		counterSource(counts): {Service: harness.DynamoDB, Operation: "GetItem", Target: counts, Stall: "8s"},
		fmt.Sprintf(`"source":{"sqs":{"queueUrl":%q}},"minRecords":0`, url): {Service: harness.SQS, Operation: "GetQueueAttributes", Latency: "8s", Target: nameOf(url)},
	} {
		t.Run(fault.Service, func(t *testing.T) {
			t.Parallel()
			fault.From, fault.Count = 2, 1
			s.Guard.Inject(t, fault)
			r := resultOf(t, watch(t, s, s.Name("watch"), `{`+source+`,"repeats":2,"delay":{"base":"200ms"}}`))
			require.Equal(t, "quiet", r.Reason)
			require.EqualValues(t, 3, r.Polls)
			require.Positive(t, r.FailedPolls)
		})
	}
}

// hook is an outside service that refuses some calls first.
type hook struct {
	*httptest.Server
	mu     sync.Mutex
	refuse []int
	keys   []string
	auths  []string
	bodies []string
}

func newHook(t *testing.T, refuse ...int) *hook {
	h := &hook{refuse: refuse}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.keys, h.auths = append(h.keys, r.Header.Get("Idempotency-Key")), append(h.auths, r.Header.Get("Authorization"))
		h.bodies = append(h.bodies, string(body))
		if len(h.keys) <= len(h.refuse) {
			w.WriteHeader(h.refuse[len(h.keys)-1])
		}
	}))
	t.Cleanup(h.Close)
	return h
}

// What follows quiet reaches a service, a workflow, an activity and a signal, each
// under its key; refusals are repeated or told.
func TestThenReachesOutside(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	ready, gone := newHook(t, 503, 429), newHook(t, 404)
	s.StartWorker("SLUICE_HTTP_ALLOW="+ready.URL+","+gone.URL, "SLUICE_HTTP_AUTH_DEPLOY=Bearer open-sesame")
	counts := s.NewTable(harness.Table{})
	setCount(t, s, counts, 2)
	id, other := s.Name("watch"), s.Name("other")
	watch(t, s, other, `{"source":{"signal":{}},"expected":7}`)
	run := watch(t, s, id, fmt.Sprintf(`{%s,"repeats":1,"delay":{"base":"200ms"},"then":[
		{"http":{"url":%q,"auth":"deploy"}},
		{"http":{"url":%q}},
		{"http":{"url":"http://127.0.0.1:1/"}},
		{"workflow":{"type":"Quiescence","id":%q,"input":{"source":{"signal":{}},"minRecords":0,"repeats":1,"delay":{"base":"100ms"}}}},
		{"activity":{"name":"HTTP.Call","input":{"url":%q,"body":"from an activity"}}},
		{"signal":{"workflowId":%q,"name":"observed"}}]}`,
		counterSource(counts), ready.URL+"/hook", gone.URL, id+"-after", ready.URL+"/activity", other))
	r := resultOf(t, run)
	require.Equal(t, "quiet", r.Reason)
	var ok []bool
	for _, then := range r.Then {
		ok = append(ok, then.OK)
	}
	require.Equal(t, []bool{true, false, false, true, true, true}, ok, "%+v", r.Then)
	require.Contains(t, r.Then[1].Error, "answered 404")
	require.Contains(t, r.Then[2].Error, "SLUICE_HTTP_ALLOW")
	require.Len(t, gone.keys, 1)

	ready.mu.Lock()
	defer ready.mu.Unlock()
	hooked := 0
	for i, key := range ready.keys {
		if ready.bodies[i] == "from an activity" {
			continue
		}
		hooked++
		require.Equal(t, id+"/1/0", key)
		require.Equal(t, "Bearer open-sesame", ready.auths[i])
		require.JSONEq(t, fmt.Sprintf(`{"reason":"quiet","count":2,"generation":1,"idempotencyKey":%q,"input":null,%s}`, id+"/1/0",
			`"source":{"dynamodb":{"attribute":"num_records","key":{"id":{"S":"landing"}},"table":"`+counts+`"}}`), ready.bodies[i])
	}
	require.Positive(t, hooked)
	require.NoError(t, s.Client.GetWorkflow(t.Context(), id+"-after", "").Get(t.Context(), nil))
	described, err := s.Client.DescribeWorkflow(t.Context(), id+"-after", "")
	require.NoError(t, err)
	require.Contains(t, described.RawResponse.GetWorkflowExecutionInfo().GetMemo().GetFields(), "idempotencyKey")
	history := s.Temporal("workflow", "show", "--workflow-id", id, "--output", "json").OK(t).Stdout
	require.NotContains(t, history, "open-sesame")
	s.Record(id, "Quiescence", "then")
	s.Temporal("workflow", "signal", "--workflow-id", other, "--name", "observed", "--input", `{"total":7}`).OK(t)
	awaitPhase(t, s, other, "DONE")
	require.Equal(t, "expected", statusOf(t, s, other).Result.Reason)
	s.Record(other, "Quiescence", "signals")
}

// Data that comes after the first quiet makes a second generation.
func TestLateGeneration(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	late := newHook(t)
	s.StartWorker("SLUICE_HTTP_ALLOW=" + late.URL)
	counts := s.NewTable(harness.Table{})
	setCount(t, s, counts, 2)
	id := s.Name("watch")
	run := watch(t, s, id, fmt.Sprintf(`{%s,"repeats":2,"delay":{"base":"300ms"},"late":{"watch":"20s"},"then":[{"http":{"url":%q},"on":["late"]}]}`,
		counterSource(counts), late.URL))
	awaitStatus(t, s, id, "has its first result", func(st status) bool { return st.Result != nil })
	require.False(t, statusOf(t, s, id).Result.Late)
	setCount(t, s, counts, 5)
	r := resultOf(t, run)
	require.Equal(t, 2, r.Generation)
	require.True(t, r.Late)
	require.EqualValues(t, 5, r.Count)
	require.Equal(t, []string{id + "/2/0"}, late.keys)
	s.Record(id, "Quiescence", "late")
}

// The activity source polls by any activity; wrong answers are failed polls.
func TestActivitySource(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	answer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "x") }))
	t.Cleanup(answer.Close)
	s.StartWorker("SLUICE_HTTP_ALLOW=" + answer.URL)
	id := s.Name("watch")
	// HTTP.Call answers {"status","body"}, which is no version: every poll fails.
	watch(t, s, id, fmt.Sprintf(`{"source":{"activity":{"name":"HTTP.Call","input":{"url":%q}}},"repeats":2,"delay":{"base":"300ms"},"deadline":"1h"}`, answer.URL))
	st := awaitLive(t, s, id, "has failed polls", func(st status) bool { return st.FailedPolls >= 2 })
	require.Zero(t, st.Polls)
	require.Contains(t, st.LastError, "HTTP.Call: answered something else")
	s.Record(id+"/poll", "Poll", "http")
	s.Temporal("workflow", "update", "execute", "--workflow-id", id, "--name", "stop", "--input", `{}`).OK(t)
	awaitPhase(t, s, id, "DONE")
}

func TestStarterWaitsAndShows(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	landing := s.NewBucket()
	put(t, s, landing, "a", "1")
	out := s.Starter("quiescence", "run", "--bucket", landing, "--repeats", "2", "--delay", "3s", "--wait").OK(t)
	require.Contains(t, out.Stdout, `"reason": "quiet"`)
	require.Contains(t, out.Stderr, "unchanged polls")
	require.Contains(t, out.Stderr, "quiet in")
	out = s.Starter("quiescence", "run", "--bucket", landing, "--prefix", "none", "--start-timeout", "1s", "--wait").Exits(t, 1)
	require.Contains(t, out.Stdout, `"reason": "notStarted"`)
	s.Starter("quiescence", "run", "--bucket", landing, "--table", "t").Exits(t, 2)
	out = s.Starter("quiescence", "run", "--repeats", "3", "--wait").Exits(t, 2)
	require.Contains(t, out.Stderr, "source: required")
	out = s.StarterWith("source: {s3: {bucket: "+landing+"}}\nrepeats: 1\n", "quiescence", "run", "-f", "-", "--delay", "200ms", "--wait").OK(t)
	require.Contains(t, out.Stdout, `"count": 1`)
}

package kinesis_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/converter"

	"sluice/activities/kinesis"
	"sluice/internal/recordbatch"
	"sluice/tests/harness"
	"sluice/workflows"
	"sluice/workflows/request"
)

// putting is a Request whose two jobs put the same records to streams of their
// own: one by PutRecords, the other by PutObject.
type putting struct {
	list, object *world
	id           string
	bucket       string   // of the object
	slow         []string // faults that hold the answers back
}

const (
	interruptedRecords = 10000
	interruptedAfter   = 2000 // records that each stream has then
)

// startPutting starts the request and returns when both jobs are in the middle:
// from the seventh call on a stream stores at once and answers a second later.
func startPutting(t *testing.T, s *harness.Stack) *putting {
	p := &putting{list: newWorldOn(t, s, 2), object: newWorldOn(t, s, 2), id: s.Name("request")}
	for _, w := range []*world{p.list, p.object} {
		p.slow = append(p.slow, s.Guard.Inject(t, harness.Fault{Service: harness.Kinesis, Operation: "PutRecords", Target: w.stream, From: 7, Stall: "1s"}))
	}
	var lines strings.Builder
	for i := range interruptedRecords {
		fmt.Fprintf(&lines, "record %d\n", i)
	}
	described := p.object.object("lines", lines.String())
	p.bucket = described.Bucket
	object, err := json.Marshal(described)
	require.NoError(t, err)
	document := fmt.Sprintf(`{"jobs":[
		{"id":"list","activity":"Kinesis.PutRecords","heartbeat":"4s","input":{"StreamName":%q,"Records":%s}},
		{"id":"object","activity":"Kinesis.PutObject","heartbeat":"4s","input":{"StreamName":%q,"Object":%s,"Envelope":true}}]}`,
		p.list.stream, records(interruptedRecords, numbered, keyed(1000)), p.object.stream, object)
	s.StarterWith(document, "request", "run", "--id", p.id, "-f", "-").OK(t)
	harness.Await(t, "both jobs are in the middle", func(context.Context) error {
		counters := s.Guard.Counters(t)
		for _, w := range []*world{p.list, p.object} {
			if n := counters.Sum(harness.Kinesis, "PutRecords", w.stream); n.Records < interruptedAfter || n.Calls < 7 {
				return fmt.Errorf("%s has %d records of %d calls", w.stream, n.Records, n.Calls)
			}
		}
		return nil
	})
	return p
}

// hurry ends the holding back.
func (p *putting) hurry(t *testing.T) {
	p.list.Guard.Clear(t, p.slow[0])
	p.list.Guard.Clear(t, p.slow[1])
}

// result waits for the request and answers what its jobs told.
func (p *putting) result(t *testing.T) map[string]kinesis.PutRecordsOutput {
	var result request.Result
	require.NoError(t, p.list.Client.GetWorkflow(t.Context(), p.id, "").Get(t.Context(), &result))
	told := map[string]kinesis.PutRecordsOutput{}
	for job, raw := range result.Jobs {
		var out kinesis.PutRecordsOutput
		require.NoError(t, json.Unmarshal(raw, &out))
		require.EqualValues(t, interruptedRecords, out.RecordCount, job)
		require.EqualValues(t, interruptedRecords, out.StoredRecordCount, job)
		require.Empty(t, out.Failed, job)
		told[job] = out
	}
	require.Len(t, told, 2)
	return told
}

// copies counts what the streams hold of each record. The run in an envelope's id
// is the request's.
func (p *putting) copies(t *testing.T, job string) map[int64]int {
	w, before := p.list, "record "
	if job == "object" {
		w, before = p.object, fmt.Sprintf(`{"id":"%s/%s/lines#`, p.id, p.bucket)
	}
	copies := map[int64]int{}
	for _, r := range w.read() {
		number, ok := strings.CutPrefix(string(r.Data), before)
		require.True(t, ok, "%s", r.Data)
		var n int64
		_, err := fmt.Sscanf(number, "%d", &n)
		require.NoError(t, err)
		copies[n]++
	}
	return copies
}

// settledAtTimeout are, by activity, the records that a lost try's last heartbeat
// had as settled.
func settledAtTimeout(t *testing.T, w *world, id string) map[string]*recordbatch.Progress {
	history := w.Client.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	names := map[int64]string{}
	found := map[string]*recordbatch.Progress{}
	for history.HasNext() {
		event, err := history.Next()
		require.NoError(t, err)
		if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
			names[event.GetEventId()] = scheduled.GetActivityType().GetName()
		}
		timedOut := event.GetActivityTaskTimedOutEventAttributes()
		if timedOut == nil {
			continue
		}
		var state struct {
			Next  int64  `json:"next"`
			Ahead string `json:"ahead"`
		}
		details := timedOut.GetFailure().GetTimeoutFailureInfo().GetLastHeartbeatDetails()
		if details == nil {
			details = timedOut.GetFailure().GetCause().GetTimeoutFailureInfo().GetLastHeartbeatDetails()
		}
		require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(details, &state))
		progress := recordbatch.NewProgress(state.Next, 1<<17)
		require.NoError(t, progress.Mark(state.Ahead))
		found[names[timedOut.GetScheduledEventId()]] = progress
	}
	return found
}

// TestAKilledWorkerLosesNothing: after SIGKILL every record is stored; what the
// last heartbeat had as settled is not sent again, all else that was counted as
// possibly doubled.
func TestAKilledWorkerLosesNothing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	worker := s.StartWorker()
	p := startPutting(t, s)
	worker.Kill()
	p.hurry(t)
	s.StartWorker()
	told := p.result(t)
	settled := settledAtTimeout(t, p.list, p.id)
	for job, activity := range map[string]string{"list": "Kinesis.PutRecords", "object": "Kinesis.PutObject"} {
		before := settled[activity]
		require.NotNil(t, before, "%s was interrupted", job)
		copies, doubled := p.copies(t, job), int64(0)
		require.Len(t, copies, interruptedRecords, "nothing is lost")
		for n, count := range copies {
			require.LessOrEqual(t, count, 2)
			if count == 2 {
				doubled++
				require.False(t, before.Has(n), "record %d was settled at the last heartbeat", n)
			}
		}
		out := told[job]
		require.LessOrEqual(t, doubled, out.PossiblyDuplicated)
		require.LessOrEqual(t, out.PossiblyDuplicated, interruptedRecords-before.Settled())
		t.Logf("%s: %d settled at the last heartbeat, %d doubled, %d possibly", job, before.Settled(), doubled, out.PossiblyDuplicated)
	}
}

// TestAStoppedWorkerDoublesNothing: after SIGTERM another worker goes on and every
// record is stored once.
func TestAStoppedWorkerDoublesNothing(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	worker := s.StartWorker()
	p := startPutting(t, s)
	require.Zero(t, worker.Stop(t))
	for _, job := range []string{"list", "object"} {
		require.Less(t, len(p.copies(t, job)), interruptedRecords, "it was interrupted")
	}
	p.hurry(t)
	s.StartWorker()
	told := p.result(t)
	for job := range told {
		require.Zero(t, told[job].PossiblyDuplicated, job)
		copies := p.copies(t, job)
		require.Len(t, copies, interruptedRecords)
		for n, count := range copies {
			require.Equal(t, 1, count, "%s: record %d", job, n)
		}
	}
}

// TestAProducerOutlivesItsWorker: a batch whose worker is killed is sent again by
// another, in order, and counted.
func TestAProducerOutlivesItsWorker(t *testing.T) {
	t.Parallel()
	p := newProducer(t, "--flush-interval", "50ms")
	p.Guard.Inject(t, harness.Fault{Service: harness.Kinesis, Operation: "PutRecords", Target: p.stream, Count: 1, Stall: "5s"})
	p.add(0, 5, 6)
	harness.Await(t, "the batch is stored", func(context.Context) error {
		if n := len(p.read()); n == 0 {
			return errors.New("no record")
		}
		return nil
	})
	p.worker.Kill()
	p.StartWorker()
	p.add(5, 5, 6)
	p.Starter("producer", "flush", p.stream, "--answer-within", "1m").OK(t)
	status := p.status()
	require.EqualValues(t, 10, status.Sent)
	require.Zero(t, status.Dropped)
	require.Positive(t, status.PossiblyDuplicated)
	require.LessOrEqual(t, status.PossiblyDuplicated, int64(5), "what the lost batch had")
	var firsts []string
	seen := map[string]bool{}
	for _, r := range p.read() {
		require.Equal(t, "key", aws.ToString(r.PartitionKey))
		if n := string(r.Data); !seen[n] {
			seen[n] = true
			firsts = append(firsts, n)
		}
	}
	require.IsIncreasing(t, firsts)
	require.Len(t, firsts, 10)
	p.end()
	p.Record(p.id, workflows.TypeProducer, "worker-killed")
}

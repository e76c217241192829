package quiescence_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"sluice/tests/harness"
)

// interrupted is a set of waiting workflows, one for each message that interrupts
// one, which know something that they have not reported.
type interrupted struct {
	t       *testing.T
	s       *harness.Stack
	watches map[string]client.WorkflowRun // by message
	counts  map[string]client.WorkflowRun
	signals client.WorkflowRun
	polled  map[string]int64 // how often a watch had polled
}

const countedMessages = 7

func startInterrupted(t *testing.T, s *harness.Stack) *interrupted {
	t.Helper()
	i := &interrupted{t: t, s: s, watches: map[string]client.WorkflowRun{}, counts: map[string]client.WorkflowRun{}, polled: map[string]int64{}}
	item := s.NewTable(harness.Table{})
	setCount(t, s, item, 3)
	for _, message := range []string{"tune", "finish", "stop"} {
		i.watches[message] = watch(t, s, s.Name(message), `{`+counterSource(item)+`,"repeats":1000,"delay":{"base":"1s"}}`)
	}
	for _, message := range []string{"stop", "drain"} {
		url, counts := s.NewQueue(map[string]string{"VisibilityTimeout": "5"}), s.NewTable(harness.Table{})
		i.counts[message] = monitor(t, s, url, counts, "")
		countSomeUnreported(t, s, i.counts[message], url, counts)
	}
	i.signals = watch(t, s, s.Name("signals"), `{"source":{"signal":{}},"repeats":1000,"delay":{"base":"1s"},"expected":2}`)
	for message, run := range i.watches {
		i.polled[message] = awaitLive(t, s, run.GetID(), "has polled often since its report", func(st status) bool {
			return st.Repeats >= 5 && st.Polls > statusOf(t, s, run.GetID()).Polls
		}).Polls
	}
	return i
}

// countSomeUnreported has a monitor count messages, the last of which only its
// heartbeat tells: they come one after the other, and it reports the first.
func countSomeUnreported(t *testing.T, s *harness.Stack, run client.WorkflowRun, url, counts string) {
	t.Helper()
	for n := range countedMessages {
		send(t, s, url, records(record("ObjectCreated:Put", "b", fmt.Sprint(n), "01")))
		awaitCount(t, s, counts, "b", int64(n+1))
	}
	harness.Await(t, run.GetID()+" heartbeats what it counted", func(context.Context) error {
		if st := countLive(t, s, run.GetID()); st.Messages != countedMessages {
			return fmt.Errorf("status %+v", st)
		}
		return nil
	})
}

// tell sends every workflow its message, all at once.
func (i *interrupted) tell() {
	i.t.Helper()
	for range 2 {
		require.NoError(i.t, i.s.Client.SignalWorkflow(i.t.Context(), i.signals.GetID(), "", "observed", json.RawMessage(`{"count":1}`)))
	}
	tellAll(i.t, i.s, i.watches, i.counts)
}

// tellAll sends workflows the messages that they stand under, all at once, and
// waits for the answers.
func tellAll(t *testing.T, s *harness.Stack, groups ...map[string]client.WorkflowRun) {
	t.Helper()
	inputs := map[string]string{"tune": `{"repeats":2}`, "finish": `{"reason":"enough"}`, "stop": `{}`, "drain": `{}`}
	var sending sync.WaitGroup
	for _, runs := range groups {
		for message, run := range runs {
			sending.Go(func() { updateOf(t, s, run.GetID(), message, inputs[message]) })
		}
	}
	sending.Wait()
}

// updateOf sends an update and waits for its answer.
func updateOf(t *testing.T, s *harness.Stack, id, name, input string) {
	handle, err := s.Client.UpdateWorkflow(t.Context(), client.UpdateWorkflowOptions{
		WorkflowID: id, UpdateName: name, Args: []any{json.RawMessage(input)}, WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	if err == nil {
		err = handle.Get(t.Context(), nil)
	}
	if err != nil {
		t.Errorf("%s %s: %v", name, id, err)
	}
}

// carriedOut checks that every message did what it says, with all that was known.
func (i *interrupted) carriedOut() {
	i.t.Helper()
	for message, reason := range map[string]string{"tune": "quiet", "finish": "forced", "stop": "stopped"} {
		r := resultOf(i.t, i.watches[message])
		require.Equal(i.t, reason, r.Reason, message)
		require.EqualValues(i.t, 3, r.Count, message)
		require.GreaterOrEqual(i.t, r.Polls, i.polled[message], "%s: what was heartbeat is kept", message)
	}
	for message, state := range map[string]string{"stop": "STOPPED", "drain": "DONE"} {
		var st countStatus
		require.NoError(i.t, i.counts[message].Get(i.t.Context(), &st), message)
		require.Equal(i.t, state, st.State)
		require.EqualValues(i.t, countedMessages, st.Messages, "%s: what was heartbeat is kept", message)
	}
	r := resultOf(i.t, i.signals)
	require.Equal(i.t, "expected", r.Reason)
	require.EqualValues(i.t, 2, r.Count)
}

func (i *interrupted) record(scenario string) {
	for message, run := range i.watches {
		i.s.Record(run.GetID(), "Quiescence", message+"-"+scenario)
	}
	for message, run := range i.counts {
		i.s.Record(run.GetID(), "CountObjects", message+"-"+scenario)
	}
}

func countLive(t *testing.T, s *harness.Stack, id string) countStatus {
	t.Helper()
	out := s.Starter("count", "status", id)
	var st countStatus
	require.NoErrorf(t, json.Unmarshal([]byte(out.Stdout), &st), "%+v", out)
	return st
}

// A message that comes while the only worker is lost fails nothing, and neither
// does it lose what the worker had heartbeat.
func TestMessagesWhileTheOnlyWorkerIsLost(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	lost := s.StartWorker()
	i := startInterrupted(t, s)
	lost.Kill()
	s.StartWorker()
	i.tell()
	i.carriedOut()
	i.record("while-the-worker-is-lost")
}

// Temporal has given the lost worker's activity up, and no worker has begun another,
// when the messages come.
func TestMessagesAfterTheLostWorkerWasNoticed(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	lost := s.StartWorker()
	i := startInterrupted(t, s)
	lost.Kill()
	s.StartWorkflowsOnly()
	for _, run := range i.watches {
		s.AwaitUnbegun(run.GetID())
	}
	for _, run := range i.counts {
		s.AwaitUnbegun(run.GetID())
	}
	// Those that go on after their message need a worker; the others end without.
	i.s.StartWorker()
	i.tell()
	i.carriedOut()
}

// A message that comes while the worker stops is carried out, whichever of the two
// ends the activity.
func TestMessagesWhileTheWorkerStops(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	first := s.StartWorker()
	i := startInterrupted(t, s)
	s.StartWorker()
	var stopping sync.WaitGroup
	stopping.Go(func() { first.Stop(t) })
	i.tell()
	i.carriedOut()
	stopping.Wait()
	i.record("while-the-worker-stops")
}

// What no worker has begun is interrupted all the same.
func TestMessagesToAnActivityThatWasNeverBegun(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorkflowsOnly()
	item, url := s.NewTable(harness.Table{}), s.NewQueue(nil)
	for message, reason := range map[string]string{"finish": "forced", "stop": "stopped"} {
		run := watch(t, s, s.Name(message), `{`+counterSource(item)+`}`)
		s.AwaitUnbegun(run.GetID())
		updateOf(t, s, run.GetID(), "tune", `{"repeats":3}`)
		updateOf(t, s, run.GetID(), message, `{}`)
		r := resultOf(t, run)
		require.Equal(t, reason, r.Reason)
		require.Zero(t, r.Polls)
		s.Record(run.GetID(), "Quiescence", message+"-never-begun")
	}
	run := monitor(t, s, url, item, "")
	s.AwaitUnbegun(run.GetID())
	updateOf(t, s, run.GetID(), "drain", `{"wait":"1s"}`)
	updateOf(t, s, run.GetID(), "stop", `{}`)
	var st countStatus
	require.NoError(t, run.Get(t.Context(), &st))
	require.Equal(t, "STOPPED", st.State)
	s.Record(run.GetID(), "CountObjects", "never-begun")
}

// A table that answers 500 for longer than a heartbeat timeout: the batch under way
// gets its time, the heartbeats go on meanwhile, and the monitor ends as told.
func TestStopWhileTheTableFails(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	counts, url := s.NewTable(harness.Table{}), s.NewQueue(map[string]string{"VisibilityTimeout": "5"})
	run := monitor(t, s, url, counts, "")
	countSomeUnreported(t, s, run, url, counts)
	fault := s.Guard.Inject(t, harness.Fault{Service: harness.DynamoDB, Target: counts, Status: 500, Code: "InternalServerError", For: "60s"})
	send(t, s, url, records(record("ObjectCreated:Put", "b", "last", "01")))
	harness.Await(t, "the batch fails", func(context.Context) error {
		if st := countLive(t, s, run.GetID()); st.LastError == "" {
			return errors.New("no error yet")
		}
		return nil
	})
	updateOf(t, s, run.GetID(), "stop", `{}`)
	var st countStatus
	require.NoError(t, run.Get(t.Context(), &st))
	require.Equal(t, "STOPPED", st.State)
	require.Contains(t, st.LastError, "InternalServerError", "it hands back what it last met")
	require.EqualValues(t, countedMessages, st.Messages)
	heard := heardOf(t, s, run.GetID())
	require.Greater(t, heard.ended.Sub(heard.asked), 12*time.Second, "the batch had its time, and nobody took the worker for lost")
	require.True(t, heard.answered, "the message was answered before")
	s.Record(run.GetID(), "CountObjects", "stopped-while-the-table-fails")
	s.Guard.Clear(t, fault)
	monitor(t, s, url, counts, "")
	awaitCount(t, s, counts, "b", countedMessages+1)
	left, err := s.SQS.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{
		QueueUrl: &url, AttributeNames: []sqstypes.QueueAttributeName{"ApproximateNumberOfMessages"}})
	require.NoError(t, err)
	require.Equal(t, "0", left.Attributes["ApproximateNumberOfMessages"])
}

// A watch that heartbeats every ten seconds hears of a message within two.
func TestRareHeartbeatsDoNotDelayMessages(t *testing.T) {
	t.Parallel()
	s := harness.Start(t)
	s.StartWorker()
	counts := s.NewTable(harness.Table{})
	setCount(t, s, counts, 3)
	var runs []client.WorkflowRun
	for range 8 {
		runs = append(runs, watch(t, s, s.Name("rare"), `{`+counterSource(counts)+`,"repeats":1000,"delay":{"base":"5m"}}`))
	}
	for _, run := range runs {
		awaitLive(t, s, run.GetID(), "has polled", func(st status) bool { return st.Polls > 0 })
	}
	var took []time.Duration
	for _, run := range runs {
		updateOf(t, s, run.GetID(), "finish", `{}`)
		require.EqualValues(t, 3, resultOf(t, run).Count)
		heard := heardOf(t, s, run.GetID())
		require.True(t, heard.answered, "the message was answered before")
		took = append(took, heard.ended.Sub(heard.asked))
	}
	// By the server's clock, from the cancel to the end; a busy machine may hold some
	// of them up.
	slices.Sort(took)
	require.Less(t, took[len(took)/2], 4*time.Second)
}

// heard tells how an activity heard of a message.
type heard struct {
	asked, ended time.Time // from its cancel to its end
	answered     bool      // the message, by then
}

func heardOf(t *testing.T, s *harness.Stack, id string) (h heard) {
	t.Helper()
	var types []string
	events := s.Client.GetWorkflowHistory(t.Context(), id, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		e, err := events.Next()
		require.NoError(t, err)
		types = append(types, e.GetEventType().String())
		switch e.GetEventType() {
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCEL_REQUESTED:
			h.asked = e.GetEventTime().AsTime()
		case enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED:
			h.answered = true
		case enumspb.EVENT_TYPE_ACTIVITY_TASK_CANCELED:
			h.ended = e.GetEventTime().AsTime()
			return h
		default:
		}
	}
	t.Fatalf("no activity was cancelled: %v", types)
	return h
}

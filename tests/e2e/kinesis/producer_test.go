package kinesis_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/tests/harness"
	"sluice/workflows"
	producerworkflow "sluice/workflows/producer"
)

// producer is a world with a worker process and a running Producer.
type producer struct {
	*world
	id     string
	worker *harness.Worker
}

func newProducer(t *testing.T, flags ...string) *producer {
	return newProducerOn(t, harness.Start(t), flags...)
}

func newProducerOn(t *testing.T, s *harness.Stack, flags ...string) *producer {
	w := newWorldOn(t, s, 2)
	worker := w.StartWorker()
	w.Starter(append([]string{"producer", "run", w.stream}, flags...)...).OK(t)
	return &producer{w, workflows.ProducerID(w.stream), worker}
}

func (p *producer) status() (s producerworkflow.Status) {
	result := p.Starter("producer", "status", p.stream).Exits(p.t, 3)
	require.NoError(p.t, json.Unmarshal([]byte(result.Stdout), &s))
	return s
}

// add adds n records of one key, numbered from first, of about size bytes.
func (p *producer) add(first, n, size int) {
	list := make([]map[string]string, n)
	for i := range list {
		data := fmt.Sprintf("%06d", first+i) + strings.Repeat(".", max(0, size-6))
		list[i] = map[string]string{"Data": base64.StdEncoding.EncodeToString([]byte(data)), "PartitionKey": "key"}
	}
	raw, err := json.Marshal(list)
	require.NoError(p.t, err)
	p.StarterWith(string(raw), "producer", "add", p.stream, "-f", "-").OK(p.t)
}

// numbers are those of the stored records, in order.
func (p *producer) numbers() (list []string) {
	for _, r := range p.read() {
		list = append(list, string(r.Data[:6]))
	}
	return list
}

// end cancels the Producer and waits until it is closed.
func (p *producer) end() {
	require.NoError(p.t, p.Client.CancelWorkflow(p.t.Context(), p.id, ""))
	harness.Await(p.t, "the producer has ended", func(ctx context.Context) error {
		d, err := p.Client.DescribeWorkflow(ctx, p.id, "")
		if err == nil && d.RawResponse.GetWorkflowExecutionInfo().GetCloseTime() == nil {
			err = errors.New("it runs")
		}
		return err
	})
}

func TestProducerThroughTheStarter(t *testing.T) {
	p := newProducer(t)
	p.add(0, 20, 6)
	p.Starter("producer", "flush", p.stream).OK(t)
	require.EqualValues(t, 20, p.status().Sent)
	p.Starter("producer", "stop", p.stream).OK(t)
	again := p.Starter("producer", "stop", p.stream).Exits(t, 1)
	require.Contains(t, again.Stderr, "already stopped")
	p.Starter("producer", "add", p.stream, "--data", "x", "--partition-key", "k").Exits(t, 1)
	p.Starter("producer", "start", p.stream).OK(t)
	p.add(20, 5, 6)
	harness.Await(t, "the rest is sent by its age", func(context.Context) error {
		if s := p.status(); s.Sent != 25 {
			return fmt.Errorf("%d sent", s.Sent)
		}
		return nil
	})
	var want []string
	for i := range 25 {
		want = append(want, fmt.Sprintf("%06d", i))
	}
	require.Equal(t, want, p.numbers())
	p.end()
	p.Record(p.id, workflows.TypeProducer, "flush-stop-start")
}

func TestProducerOutlastsAnOutageOfKinesis(t *testing.T) {
	p := newProducer(t)
	p.Guard.Inject(t, harness.Fault{Service: harness.Kinesis, Operation: "PutRecords", Target: p.stream, Count: 4, Status: 503, Code: "ServiceUnavailable"})
	p.add(0, 3, 6)
	harness.Await(t, "all is sent", func(context.Context) error {
		if s := p.status(); s.Sent != 3 {
			return fmt.Errorf("%d sent", s.Sent)
		}
		return nil
	})
	require.Zero(t, p.status().Dropped)
	require.Contains(t, p.Starter("producer", "events", p.stream).OK(t).Stdout, "ServiceUnavailable")
	require.Equal(t, []string{"000000", "000001", "000002"}, p.numbers())
	p.end()
	p.Record(p.id, workflows.TypeProducer, "outage")
}

// closed is the status that a cancelled Producer ended with, and what it handed
// back.
func (p *producer) closed() (status producerworkflow.Status, rest json.RawMessage) {
	var canceled *temporal.CanceledError
	require.ErrorAs(p.t, p.Client.GetWorkflow(p.t.Context(), p.id, "").Get(p.t.Context(), nil), &canceled)
	if canceled.Details(&status, &rest) != nil {
		require.NoError(p.t, canceled.Details(&status))
	}
	return status, rest
}

// One that is cancelled while Kinesis is away tries for half a minute more, and ends
// with the records that it could not send.
func TestProducerCancelledInAnOutageHandsBackWhatItCannotSend(t *testing.T) {
	t.Parallel()
	p := newProducer(t)
	p.Guard.Inject(t, harness.Fault{Service: harness.Kinesis, Operation: "PutRecords", Target: p.stream, Status: 503, Code: "ServiceUnavailable"})
	p.add(0, 4, 6)
	harness.Await(t, "it has failed again and again", func(context.Context) error {
		if s := p.status(); s.ConsecutiveErrors < 4 || s.Trouble == nil {
			return fmt.Errorf("%d errors, trouble %v", s.ConsecutiveErrors, s.Trouble)
		}
		return nil
	})
	require.Equal(t, "Unavailable", p.status().Trouble.Type)
	p.end()
	status, rest := p.closed()
	require.Equal(t, 4, status.Buffered)
	require.Zero(t, status.Sent)
	require.NotEmpty(t, rest)
	p.Record(p.id, workflows.TypeProducer, "cancelled-in-outage")
}

func TestProducerSendsWhatItHasWhenCancelled(t *testing.T) {
	p := newProducer(t, "--flush-interval", "1h", "--batch-size", "10")
	p.add(0, 25, 6)
	p.end()
	status, rest := p.closed()
	require.EqualValues(t, 25, status.Sent)
	require.Empty(t, rest)
	require.Len(t, p.numbers(), 25)
	require.IsIncreasing(t, p.numbers())
	p.Record(p.id, workflows.TypeProducer, "cancelled")
}

// TestProducerHandsBackWhatItHolds: one that was stopped sends nothing when it is
// cancelled; it ends with the records that are owed, and these can be added
// elsewhere as they are.
func TestProducerHandsBackWhatItHolds(t *testing.T) {
	p := newProducer(t, "--flush-interval", "1h")
	p.add(0, 4, 6)
	p.Starter("producer", "stop", p.id).OK(t)
	p.end()
	status, rest := p.closed()
	require.Equal(t, 4, status.Buffered)
	require.Zero(t, status.Sent)
	p.Record(p.id, workflows.TypeProducer, "cancelled-stopped")
	p.Starter("producer", "run", p.stream).OK(t)
	p.StarterWith(string(rest), "producer", "add", p.id, "-f", "-").OK(t)
	p.Starter("producer", "flush", p.id).OK(t)
	require.Equal(t, []string{"000000", "000001", "000002", "000003"}, p.numbers())
	p.end()
}

// TestProducerThatIsFullIsWaitedFor: `add` is told to ask again, and does.
func TestProducerThatIsFullIsWaitedFor(t *testing.T) {
	p := newProducer(t, "--buffer-size", "20", "--batch-size", "10", "--flush-interval", "200ms")
	p.Guard.Inject(t, harness.Fault{Service: harness.Kinesis, Operation: "PutRecords", Target: p.stream, Count: 3, Status: 503, Code: "ServiceUnavailable"})
	for i := range 5 {
		p.add(i*15, 15, 6)
	}
	p.Starter("producer", "flush", p.stream).OK(t)
	require.Len(t, p.numbers(), 75)
	require.IsIncreasing(t, p.numbers())
	p.end()
	p.Record(p.id, workflows.TypeProducer, "full")
}

// TestProducerDropsARecordAndKeepsTheOrder: a record that is refused too often
// goes, those behind it of its key wait for that and no longer.
func TestProducerDropsARecordAndKeepsTheOrder(t *testing.T) {
	p := newProducer(t, "--max-attempts", "3")
	first := 0
	p.Guard.Inject(t, harness.Fault{Service: harness.Kinesis, Operation: "PutRecords", Target: p.stream, Count: 3,
		Entries: []harness.FaultEntry{{Index: &first, Code: "InternalFailure", Message: "not this one"}}})
	p.add(0, 4, 6)
	p.Starter("producer", "flush", p.stream).OK(t)
	status := p.status()
	require.EqualValues(t, 1, status.Dropped)
	require.EqualValues(t, 3, status.Sent)
	require.Equal(t, []string{"000001", "000002", "000003"}, p.numbers())
	events := p.Starter("producer", "events", p.id).OK(t).Stdout
	require.Contains(t, events, "InternalFailure")
	require.Contains(t, events, "Dropped")
	p.end()
	p.Record(p.id, workflows.TypeProducer, "dropped")
}

// TestProducerContinuesAsNewWhileAddsKeepComing runs on a server that finds a
// history of 40 events long enough.
func TestProducerContinuesAsNewWhileAddsKeepComing(t *testing.T) {
	p := newProducerOn(t, harness.Start(t, harness.Options{Own: true, Args: []string{"--dynamic", "limit.historyCount.suggestContinueAsNew=40"}}))
	first, err := p.Client.DescribeWorkflow(t.Context(), p.id, "")
	require.NoError(t, err)
	run := first.RawResponse.GetWorkflowExecutionInfo().GetExecution().GetRunId()
	const adds, each = 14, 3
	for i := range adds {
		p.add(i*each, each, 6)
	}
	p.Starter("producer", "flush", p.stream, "--answer-within", "1m").OK(t)
	s := p.status()
	require.EqualValues(t, adds*each, s.Sent)
	require.Zero(t, s.Dropped)
	last, err := p.Client.DescribeWorkflow(t.Context(), p.id, "")
	require.NoError(t, err)
	require.NotEqual(t, run, last.RawResponse.GetWorkflowExecutionInfo().GetExecution().GetRunId(), "it has continued as new")
	numbers := p.numbers()
	for i := 1; i < len(numbers); i++ {
		require.Less(t, numbers[i-1], numbers[i])
	}
	require.Len(t, numbers, adds*each)
	p.end()
	p.Record(p.id, workflows.TypeProducer, "continued", last.RawResponse.GetWorkflowExecutionInfo().GetExecution().GetRunId())
}

package producer

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
)

// producerWorld runs a Producer in a test's time against a stand-in for the
// activity that sends.
type producerWorld struct {
	*testsuite.TestWorkflowEnvironment
	t       *testing.T
	batches []wire.PutBatchInput
	sentAt  []time.Time
	updates int
	answer  func(n int, in wire.PutBatchInput) (wire.PutBatchOutput, error) // n from 1
}

func newProducerWorld(t *testing.T) *producerWorld {
	suite := &testsuite.WorkflowTestSuite{}
	w := &producerWorld{TestWorkflowEnvironment: suite.NewTestWorkflowEnvironment(), t: t}
	w.SetTestTimeout(time.Minute)
	w.RegisterActivityWithOptions(w.put, activity.RegisterOptions{Name: wire.PutBatch.Name})
	return w
}

func (w *producerWorld) put(in wire.PutBatchInput) (wire.PutBatchOutput, error) {
	w.batches = append(w.batches, in)
	w.sentAt = append(w.sentAt, w.Now())
	if w.answer == nil {
		return wire.PutBatchOutput{Stored: int64(len(in.Records))}, nil
	}
	return w.answer(len(w.batches), in)
}

// at does something once so much time has passed.
func (w *producerWorld) at(after time.Duration, do func()) { w.RegisterDelayedCallback(do, after) }

// run starts the Producer and cancels it after so much time.
func (w *producerWorld) run(input string, lasts time.Duration) {
	w.at(lasts, w.CancelWorkflow)
	w.ExecuteWorkflow(Workflow, json.RawMessage(input))
	require.True(w.t, w.IsWorkflowCompleted())
}

// update sends a message; check gets its answer or refusal.
func (w *producerWorld) update(name, input string, check func(raw json.RawMessage, err error)) {
	w.updates++
	w.UpdateWorkflow(name, fmt.Sprintf("%s-%d", name, w.updates), &updateCallback{w.t, check}, json.RawMessage(input))
}

func (w *producerWorld) add(n int, check ...func(AddAnswer, error)) {
	w.update(wire.UpdateAdd, addOf(n), func(raw json.RawMessage, err error) {
		var a AddAnswer
		if err == nil {
			require.NoError(w.t, json.Unmarshal(raw, &a))
		}
		if len(check) > 0 {
			check[0](a, err)
			return
		}
		require.NoError(w.t, err)
	})
}

// addOf is an `add` of n records with keys of their own.
func addOf(n int) string {
	text := `{"records":[`
	for i := range n {
		if i > 0 {
			text += ","
		}
		text += fmt.Sprintf(`{"Data":"eA==","PartitionKey":"k%d"}`, i)
	}
	return text + "]}"
}

func (w *producerWorld) status() (s Status) {
	value, err := w.QueryWorkflow(wire.QueryStatus)
	require.NoError(w.t, err)
	require.NoError(w.t, value.Get(&s))
	return s
}

func (w *producerWorld) events() (e []Event) {
	value, err := w.QueryWorkflow(wire.QueryEvents)
	require.NoError(w.t, err)
	require.NoError(w.t, value.Get(&e))
	return e
}

type updateCallback struct {
	t     *testing.T
	check func(json.RawMessage, error)
}

func (c *updateCallback) Accept() {}

func (c *updateCallback) Reject(err error) { c.check(nil, err) }

func (c *updateCallback) Complete(success any, err error) {
	raw, encodeErr := json.Marshal(success)
	require.NoError(c.t, encodeErr)
	c.check(raw, err)
}

func TestProducerSendsByCountAgeAndFlush(t *testing.T) {
	w := newProducerWorld(t)
	w.at(time.Second, func() { w.add(4) })     // waits for company until 2s
	w.at(10*time.Second, func() { w.add(5) })  // a full batch goes at once
	w.at(20*time.Second, func() { w.add(12) }) // two at once, the rest a second later
	w.at(30*time.Second, func() {
		w.add(1)
		w.update(wire.UpdateFlush, `{}`, func(raw json.RawMessage, err error) {
			require.NoError(t, err)
			require.JSONEq(t, `{"sent":1,"remaining":0}`, string(raw))
		})
	})
	began := w.Now()
	w.run(`{"stream":"s","batchSize":5}`, time.Minute)
	var sizes []int
	var times []time.Duration
	for i, b := range w.batches {
		sizes = append(sizes, len(b.Records))
		times = append(times, w.sentAt[i].Sub(began).Round(100*time.Millisecond))
	}
	require.Equal(t, []int{4, 5, 5, 5, 2, 1}, sizes)
	require.Equal(t, 2*time.Second, times[0])
	require.Equal(t, 10*time.Second, times[1])
	require.Equal(t, 20*time.Second, times[3])
	require.Equal(t, 21*time.Second, times[4])
	require.Equal(t, 30*time.Second, times[5])
}

func TestProducerRepeatsInOrderAndDropsWhatFailsTooOften(t *testing.T) {
	w := newProducerWorld(t)
	w.answer = func(n int, in wire.PutBatchInput) (wire.PutBatchOutput, error) {
		if n > 3 {
			return wire.PutBatchOutput{Stored: int64(len(in.Records))}, nil
		}
		return wire.PutBatchOutput{Stored: int64(len(in.Records)) - 2, Failed: []int64{1}, Held: []int64{3},
			Errors: []wire.BatchFault{{Code: "ProvisionedThroughputExceededException", Records: 1}}}, nil
	}
	w.at(time.Second, func() { w.add(5) })
	w.at(time.Minute, func() {
		s := w.status()
		require.EqualValues(t, 5, s.Sent)
		require.Zero(t, s.Buffered)
		require.EqualValues(t, 1, s.KinesisErrors)
		require.Zero(t, s.ConsecutiveErrors)
		require.Len(t, w.events(), 1)
	})
	w.answer = firstFails(w.answer)
	w.run(`{"stream":"s","maxAttempts":2}`, 2*time.Minute)
	require.Len(t, w.batches, 2)
	require.Equal(t, "k1", w.batches[1].Records[0].PartitionKey)
	require.Equal(t, "k3", w.batches[1].Records[1].PartitionKey)
}

// firstFails lets an answer hold for the first batch only.
func firstFails(answer func(int, wire.PutBatchInput) (wire.PutBatchOutput, error)) func(int, wire.PutBatchInput) (wire.PutBatchOutput, error) {
	return func(n int, in wire.PutBatchInput) (wire.PutBatchOutput, error) {
		if n == 1 {
			return answer(n, in)
		}
		return wire.PutBatchOutput{Stored: int64(len(in.Records))}, nil
	}
}

// refusedSingly answers that record 0 of each batch is refused.
func refusedSingly(_ int, in wire.PutBatchInput) (wire.PutBatchOutput, error) {
	return wire.PutBatchOutput{Stored: int64(len(in.Records)) - 1, Failed: []int64{0},
		Errors: []wire.BatchFault{{Code: "InternalFailure", Records: 1}}}, nil
}

func TestProducerDropsARecordAfterMaxAttempts(t *testing.T) {
	w := newProducerWorld(t)
	w.answer = refusedSingly
	w.at(time.Second, func() { w.add(3) })
	w.at(time.Minute, func() {
		s := w.status()
		require.EqualValues(t, 2, s.Sent)
		require.EqualValues(t, 1, s.Dropped)
		require.Zero(t, s.Buffered)
		require.Equal(t, "Dropped", w.events()[len(w.events())-1].Code)
	})
	w.run(`{"stream":"s","maxAttempts":4}`, 2*time.Minute)
	require.Len(t, w.batches, 4)
}

// outage answers every batch with a failure of the whole call.
func outage(_ int, in wire.PutBatchInput) (wire.PutBatchOutput, error) {
	return wire.PutBatchOutput{Failed: all(len(in.Records)),
		Errors: []wire.BatchFault{{Code: "ServiceUnavailable", Message: "down", Records: len(in.Records), Call: true}}}, nil
}

func TestProducerOutlastsAnOutage(t *testing.T) {
	w := newProducerWorld(t)
	w.answer = func(n int, in wire.PutBatchInput) (wire.PutBatchOutput, error) {
		if n <= 20 {
			return outage(n, in)
		}
		return wire.PutBatchOutput{Stored: int64(len(in.Records))}, nil
	}
	w.at(time.Second, func() { w.add(3) })
	w.at(30*time.Second, func() {
		s := w.status()
		require.Equal(t, 3, s.Buffered)
		require.NotZero(t, s.ConsecutiveErrors)
		require.NotNil(t, s.NextAttemptAt)
	})
	w.at(10*time.Minute, func() {
		s := w.status()
		require.EqualValues(t, 3, s.Sent)
		require.Zero(t, s.Dropped)
		require.Zero(t, s.ConsecutiveErrors)
		require.Nil(t, s.NextAttemptAt)
	})
	w.run(`{"stream":"s","maxAttempts":2}`, 11*time.Minute)
	require.Len(t, w.batches, 21)
	for i := 2; i < len(w.sentAt); i++ {
		require.LessOrEqual(t, w.sentAt[i].Sub(w.sentAt[i-1]), 11*time.Second, "the back-off is capped")
	}
	require.Equal(t, 50*time.Millisecond, w.sentAt[1].Sub(w.sentAt[0]).Round(time.Millisecond))
	require.Equal(t, 100*time.Millisecond, w.sentAt[2].Sub(w.sentAt[1]).Round(time.Millisecond))
}

func TestProducerRefusesWhatItCannotTakeIn(t *testing.T) {
	w := newProducerWorld(t)
	w.answer = outage
	refusal := func(want string) func(AddAnswer, error) {
		return func(_ AddAnswer, err error) { require.Equal(t, want, activities.TypeOf(err), "%v", err) }
	}
	w.at(time.Second, func() { w.add(8) })
	w.at(10*time.Second, func() {
		w.add(3, func(_ AddAnswer, err error) {
			require.Equal(t, activities.TypeThrottled, activities.TypeOf(err))
			var application *temporal.ApplicationError
			require.ErrorAs(t, err, &application)
			require.Positive(t, application.NextRetryDelay())
		})
		w.add(2)
		w.add(11, refusal(activities.TypeTooLarge))
		large := strings.Repeat("AAAA", 450_000)
		w.update(wire.UpdateAdd, `{"records":[{"Data":"`+large+`","PartitionKey":"k"},{"PartitionKey":"k"},{"Data":"eA==","PartitionKey":""},{"Data":"?","PartitionKey":"","ExplicitHashKey":"-1","x":1}],"more":1}`, func(_ json.RawMessage, err error) {
			require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err))
			for _, path := range []string{"records[0]", "records[1].Data", "records[2].PartitionKey", "records[3].Data", "records[3].x", "records[3].PartitionKey", "records[3].ExplicitHashKey", "more"} {
				require.Contains(t, err.Error(), path)
			}
		})
		w.update(wire.UpdateAdd, `{"records":[{"Data":"`+large+`","PartitionKey":"k"}]}`, func(_ json.RawMessage, err error) {
			require.Equal(t, activities.TypeTooLarge, activities.TypeOf(err))
			for _, part := range []string{"records[0]", "1350001 bytes", "1310720"} {
				require.Contains(t, err.Error(), part)
			}
		})
	})
	w.at(20*time.Second, func() {
		w.update(wire.UpdateStart, `{}`, func(_ json.RawMessage, err error) {
			require.Equal(t, activities.TypeConflict, activities.TypeOf(err))
			require.Contains(t, err.Error(), "already started")
		})
		w.update(wire.UpdateStop, `null`, func(_ json.RawMessage, err error) { require.NoError(t, err) })
		w.add(1, refusal(activities.TypeConflict))
		w.update(wire.UpdateStop, `null`, func(_ json.RawMessage, err error) { require.Contains(t, err.Error(), "already stopped") })
	})
	w.run(`{"stream":"s","bufferSize":10,"batchSize":5}`, time.Minute)
}

func TestProducerDropsTheOldestBatchOnlyWhenToldTo(t *testing.T) {
	for _, drop := range []bool{false, true} {
		w := newProducerWorld(t)
		w.answer = outage
		w.at(time.Second, func() { w.add(20) })
		w.at(time.Minute, func() {
			s := w.status()
			if drop {
				require.EqualValues(t, 5, s.Dropped)
				require.Equal(t, 15, s.Buffered)
			} else {
				require.Zero(t, s.Dropped)
				require.Equal(t, 20, s.Buffered)
			}
		})
		w.run(fmt.Sprintf(`{"stream":"s","bufferSize":20,"batchSize":5,"dropWhenFull":%v}`, drop), 2*time.Minute)
	}
}

func TestProducerStopKeepsAndFlushSends(t *testing.T) {
	w := newProducerWorld(t)
	w.at(time.Second, func() {
		w.add(7)
		w.update(wire.UpdateStop, `{}`, func(raw json.RawMessage, err error) {
			require.NoError(t, err)
			require.Contains(t, string(raw), Stopped)
		})
	})
	w.at(time.Minute, func() {
		require.Equal(t, 7, w.status().Buffered)
		w.update(wire.UpdateFlush, `{}`, func(raw json.RawMessage, err error) {
			require.NoError(t, err)
			require.JSONEq(t, `{"sent":7,"remaining":0}`, string(raw))
		})
	})
	w.at(2*time.Minute, func() {
		w.update(wire.UpdateStart, `{}`, func(_ json.RawMessage, err error) { require.NoError(t, err) })
	})
	w.at(3*time.Minute, func() { require.Equal(t, Running, w.status().State) })
	w.run(`{"stream":"s"}`, 4*time.Minute)
	require.Len(t, w.batches, 1)
}

func TestProducerFlushIsHonestAboutWhatWaits(t *testing.T) {
	w := newProducerWorld(t)
	w.answer = outage
	w.at(time.Second, func() {
		w.add(7)
		w.update(wire.UpdateFlush, `{"wait":"5s","stop":true}`, func(raw json.RawMessage, err error) {
			require.NoError(t, err)
			require.JSONEq(t, `{"sent":0,"remaining":7}`, string(raw))
		})
	})
	w.at(10*time.Second, func() { require.Equal(t, Stopped, w.status().State) })
	w.run(`{"stream":"s"}`, time.Minute)
	sent := len(w.batches)
	require.NotZero(t, sent)
	require.Less(t, w.sentAt[sent-1].Sub(w.sentAt[0]), 6*time.Second, "a stopped producer sends only for a flush")
}

// TestProducerIdles: no calls and no timers while there is nothing to send.
func TestProducerIdles(t *testing.T) {
	w := newProducerWorld(t)
	timers := 0
	w.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
	w.at(time.Second, func() { w.add(1) })
	w.run(`{"stream":"s"}`, 20*time.Minute)
	require.Len(t, w.batches, 1)
	require.Equal(t, 1, timers)
}

func TestProducerContinuesWithAllItHas(t *testing.T) {
	w := newProducerWorld(t)
	w.answer = outage
	w.at(time.Second, func() { w.add(3) })
	w.at(1500*time.Millisecond, func() { w.SetContinueAsNewSuggested(true) })
	w.ExecuteWorkflow(Workflow, json.RawMessage(`{"stream":"s","batchSize":2,"maxAttempts":5}`))
	var next *workflow.ContinueAsNewError
	require.ErrorAs(t, w.GetWorkflowError(), &next)
	require.Equal(t, wire.TypeProducer, next.WorkflowType.Name)
	var carried carried
	require.NoError(t, converter.GetDefaultDataConverter().FromPayloads(next.Input, &carried))
	require.Equal(t, 2, carried.BatchSize)
	require.Len(t, carried.State.Buffer.Records, 3)
	require.NotZero(t, carried.State.ConsecutiveErrors)
	require.NotEmpty(t, carried.State.Events)

	second := newProducerWorld(t)
	second.SetContinuedExecutionRunID("before")
	raw, err := json.Marshal(carried)
	require.NoError(t, err)
	second.at(time.Minute, func() {
		s := second.status()
		require.EqualValues(t, 3, s.Sent)
		require.Zero(t, s.Buffered)
	})
	second.run(string(raw), 2*time.Minute)
}

func TestProducerRefusesBadInput(t *testing.T) {
	w := newProducerWorld(t)
	w.ExecuteWorkflow(Workflow, json.RawMessage(`{"batchSize":501,"flushInterval":"10ms","ordering":"x","bufferBytes":2000000,"extra":1}`))
	err := w.GetWorkflowError()
	require.Equal(t, activities.TypeInvalidInput, activities.TypeOf(err))
	for _, path := range []string{"stream: required", "batchSize", "flushInterval", "ordering", "bufferBytes", "extra"} {
		require.Contains(t, err.Error(), path)
	}
	forever := newProducerWorld(t)
	forever.ExecuteWorkflow(Workflow, json.RawMessage(`{"stream":"s","flushInterval":"0s","bufferSize":10}`))
	require.Contains(t, forever.GetWorkflowError().Error(), "for ever")
}

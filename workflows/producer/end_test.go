package producer

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// ended is what a cancelled Producer tells in its end.
func (w *producerWorld) ended() (status Status, rest unsent, hasRest bool) {
	var canceled *temporal.CanceledError
	require.ErrorAs(w.t, w.GetWorkflowError(), &canceled)
	if canceled.Details(&status, &rest) == nil {
		return status, rest, true
	}
	require.NoError(w.t, canceled.Details(&status))
	return status, rest, false
}

func TestProducerSendsWhatItHasWhenCancelled(t *testing.T) {
	w := newProducerWorld(t)
	w.at(time.Second, func() { w.add(12) })
	w.run(`{"stream":"s","batchSize":5,"flushInterval":"1h"}`, 2*time.Second)
	require.Len(t, w.batches, 3)
	status, _, hasRest := w.ended()
	require.EqualValues(t, 12, status.Sent)
	require.Zero(t, status.Buffered)
	require.False(t, hasRest)
}

func TestProducerCancelledInAnOutageHandsBackWhatItHas(t *testing.T) {
	w := newProducerWorld(t)
	w.answer = outage
	began := w.Now()
	w.at(time.Second, func() { w.add(3) })
	w.at(30*time.Second+time.Millisecond, func() {
		w.add(1, func(_ AddAnswer, err error) {
			require.Equal(t, activities.TypeConflict, activities.TypeOf(err))
			require.Contains(t, err.Error(), "cancelled")
		})
	})
	w.run(`{"stream":"s","batchSize":2}`, 30*time.Second)
	require.LessOrEqual(t, w.Now().Sub(began), time.Minute+time.Second, "it does not wait for ever")
	require.True(t, w.sentAt[len(w.sentAt)-1].Sub(began) > 30*time.Second, "it tried once more")
	status, rest, hasRest := w.ended()
	require.True(t, hasRest)
	require.Equal(t, 3, status.Buffered)
	require.Zero(t, status.Dropped)
	require.Equal(t, []wire.BatchRecord{{Data: "eA==", PartitionKey: "k0"}, {Data: "eA==", PartitionKey: "k1"}, {Data: "eA==", PartitionKey: "k2"}}, rest.Records)
	raw, err := json.Marshal(rest)
	require.NoError(t, err)
	var again addInput
	require.NoError(t, shell.Decode("add", raw, &again), "it can be added again as it is")
	require.Len(t, again.records, 3)
}

func TestProducerSendsNothingWhenItIsCancelledStopped(t *testing.T) {
	w := newProducerWorld(t)
	w.at(time.Second, func() {
		w.add(2)
		w.update(wire.UpdateStop, `{}`, func(_ json.RawMessage, err error) { require.NoError(t, err) })
	})
	w.run(`{"stream":"s"}`, 10*time.Second)
	require.Empty(t, w.batches)
	status, rest, hasRest := w.ended()
	require.True(t, hasRest)
	require.Equal(t, 2, status.Buffered)
	require.Len(t, rest.Records, 2)
}

func TestProducerAnswersAFlushWhenItIsCancelled(t *testing.T) {
	w := newProducerWorld(t)
	w.answer = outage
	answered := false
	w.at(time.Second, func() {
		w.add(2)
		w.update(wire.UpdateFlush, `{"wait":"1m"}`, func(raw json.RawMessage, err error) {
			answered = true
			require.NoError(t, err)
			require.JSONEq(t, `{"sent":0,"remaining":2}`, string(raw))
		})
	})
	w.run(`{"stream":"s"}`, 10*time.Second)
	require.True(t, answered)
}

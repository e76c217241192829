package producer

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/internal/wire"
)

// sizes are those of the batches sent.
func (w *producerWorld) sizes() (list []int) {
	for _, b := range w.batches {
		list = append(list, len(b.Records))
	}
	return list
}

// The case of the field K15, for the durable buffer: by count, by age, by flush,
// and nothing when there is nothing.
func TestCaseK15AProducerSendsByCountAgeAndFlush(t *testing.T) {
	t.Run("four records by their age", func(t *testing.T) {
		w := newProducerWorld(t)
		began := w.Now()
		w.at(time.Second, func() { w.add(4) })
		w.run(`{"stream":"s"}`, time.Minute)
		require.Equal(t, []int{4}, w.sizes())
		require.Equal(t, 2*time.Second, w.sentAt[0].Sub(began).Round(10*time.Millisecond))
	})
	t.Run("499 and then one more", func(t *testing.T) {
		w := newProducerWorld(t)
		began := w.Now()
		w.at(time.Second, func() { w.add(499) })
		w.at(1200*time.Millisecond, func() { w.add(1) })
		w.run(`{"stream":"s"}`, time.Minute)
		require.Equal(t, []int{500}, w.sizes())
		require.Equal(t, 1200*time.Millisecond, w.sentAt[0].Sub(began).Round(10*time.Millisecond))
	})
	t.Run("flush with 3,000 waiting", func(t *testing.T) {
		w := newProducerWorld(t)
		w.at(time.Second, func() {
			for range 6 {
				w.add(499)
			}
			w.add(6)
			w.update(wire.UpdateStop, `{}`, func(_ json.RawMessage, err error) { require.NoError(t, err) })
		})
		w.at(10*time.Second, func() {
			sent := w.status().Sent
			w.update(wire.UpdateFlush, `{}`, func(raw json.RawMessage, err error) {
				require.NoError(t, err)
				var answer FlushAnswer
				require.NoError(t, json.Unmarshal(raw, &answer))
				require.Equal(t, FlushAnswer{Sent: 3000 - sent}, answer)
			})
		})
		w.at(time.Minute, func() { require.EqualValues(t, 3000, w.status().Sent) })
		w.run(`{"stream":"s"}`, 2*time.Minute)
	})
	t.Run("ten idle minutes", func(t *testing.T) {
		w := newProducerWorld(t)
		timers := 0
		w.SetOnTimerScheduledListener(func(string, time.Duration) { timers++ })
		w.run(`{"stream":"s"}`, 10*time.Minute)
		require.Empty(t, w.batches)
		require.Zero(t, timers)
	})
}

// TestProducerStartsAndStopsTenTimes: what is added in between waits for the next
// start, and nothing is sent while it is stopped.
func TestProducerStartsAndStopsTenTimes(t *testing.T) {
	w := newProducerWorld(t)
	ok := func(_ json.RawMessage, err error) { require.NoError(t, err) }
	for i := range 10 {
		begin := time.Duration(i+1) * time.Minute
		w.at(begin, func() {
			w.add(2)
			w.update(wire.UpdateStop, `{}`, ok)
		})
		w.at(begin+20*time.Second, func() { require.Equal(t, 2, w.status().Buffered) })
		w.at(begin+30*time.Second, func() { w.update(wire.UpdateStart, `{}`, ok) })
		w.at(begin+40*time.Second, func() { require.Zero(t, w.status().Buffered) })
	}
	w.run(`{"stream":"s"}`, 15*time.Minute)
	require.Len(t, w.batches, 10)
}

// TestProducerKeepsTheLastHundredEvents: newest last.
func TestProducerKeepsTheLastHundredEvents(t *testing.T) {
	w := newProducerWorld(t)
	w.answer = func(n int, in wire.PutBatchInput) (wire.PutBatchOutput, error) {
		if n <= 130 {
			return outage(n, in)
		}
		return wire.PutBatchOutput{Stored: int64(len(in.Records))}, nil
	}
	w.at(time.Second, func() { w.add(1) })
	w.at(time.Hour, func() {
		events := w.events()
		require.Len(t, events, maxEvents)
		require.EqualValues(t, 130, w.status().KinesisErrors)
		for i := 1; i < len(events); i++ {
			require.False(t, events[i].At.Before(events[i-1].At))
		}
		require.Equal(t, w.sentAt[129].UTC(), events[99].At)
	})
	w.run(`{"stream":"s"}`, 2*time.Hour)
}

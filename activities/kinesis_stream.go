package activities

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"sluice/internal/backoff"
	"sluice/internal/recordbatch"
)

// kinesisBackoff is between repeats: 50 ms doubling to 10 s. Half of it is
// jitter, so that the first repeat does not come at once.
var kinesisBackoff = backoff.Policy{Base: 50 * time.Millisecond, Cap: 10 * time.Second}

func kinesisDelay(n int) time.Duration {
	ceiling := kinesisBackoff.Ceiling(n)
	return ceiling/2 + kinesisBackoff.Delay(n, rand.Float64())/2
}

// stream is a worker's producer for one stream: the queue, and what sends for
// it. Nothing of it runs while nothing waits: pushing records, answers and one
// timer move it.
type stream struct {
	k    *Kinesis
	name streamName

	mu     sync.Mutex
	queue  *recordbatch.Queue
	space  chan struct{} // closed when room or quiet has come
	serial uint64        // counts requests that have ended
	timer  *time.Timer
	wakeAt time.Time
	shards shardWatch

	meters streamMeters
	bodies sync.Pool
}

// buffers are a request's body and its answer, used again.
type buffers struct{ body, answer []byte }

func newStream(k *Kinesis, n streamName) *stream {
	s := &stream{k: k, name: n, space: make(chan struct{}), meters: newStreamMeters(k.Metrics, n.String())}
	s.bodies.New = func() any { return &buffers{} }
	return s
}

// settings for the queue.
func (s *stream) settings() recordbatch.Settings {
	set := s.k.Settings
	return recordbatch.Settings{
		Limits:        set.Limits,
		FlushInterval: set.FlushInterval,
		MaxInFlight:   set.MaxConnections,
		BufferRecords: set.BufferRecords,
		Shard:         set.Shard,
		Backoff:       kinesisDelay,
	}
}

// push queues items in order, waiting for room where there is none. It returns
// early when ctx ends or the call is withdrawn; what is not queued then is
// the caller's.
func (s *stream) push(ctx context.Context, call *putCall, items []recordbatch.Item) error {
	for len(items) > 0 {
		s.mu.Lock()
		if call.rules.Withdrawn() {
			s.mu.Unlock()
			return nil
		}
		n := s.room(items)
		if n == 0 {
			// Room comes from sending, so nothing may wait for company now.
			s.queue.Flush()
			s.pump()
			space := s.space
			s.mu.Unlock()
			select {
			case <-space:
			case <-ctx.Done():
				return ctx.Err()
			}
			continue
		}
		s.queue.Push(items[:n], time.Now())
		items = items[n:]
		s.pump()
		s.mu.Unlock()
	}
	return nil
}

// room is how many of the items the buffer takes now.
func (s *stream) room(items []recordbatch.Item) int {
	set := &s.k.Settings
	held := s.queue.Held()
	records, bytes := set.BufferRecords-held, set.BufferBytes-s.queue.HeldBytes()
	n := 0
	for n < len(items) && n < records {
		bytes -= items[n].Size()
		if bytes < 0 && (n > 0 || held > 0) {
			break
		}
		n++
	}
	return n
}

// flush sends what waits without waiting for company.
func (s *stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Flush()
	s.pump()
}

// withdraw takes back what waits of a call. It is called with mu held.
func (s *stream) withdraw(call *putCall) {
	s.queue.Withdraw(&call.rules)
	s.broadcast()
}

// broadcast wakes whoever waits for room or for a call's end. It is called
// with mu held.
func (s *stream) broadcast() {
	close(s.space)
	s.space = make(chan struct{})
}

// settled waits until nothing of the call is queued or in flight.
func (s *stream) settled(ctx context.Context, call *putCall) error {
	for {
		s.mu.Lock()
		open, space := call.rules.Open(), s.space
		s.mu.Unlock()
		if open == 0 {
			return nil
		}
		select {
		case <-space:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// await waits until something has come to an end, and lets nothing wait for
// company meanwhile.
func (s *stream) await(ctx context.Context) error {
	s.mu.Lock()
	s.queue.Flush()
	s.pump()
	space := s.space
	s.mu.Unlock()
	select {
	case <-space:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pump sends whatever is due and sets the timer for what is due later. It is
// called with mu held.
func (s *stream) pump() {
	for {
		request, wake := s.queue.Next(time.Now())
		if request == nil {
			s.setTimer(wake)
			return
		}
		go s.send(request)
	}
}

func (s *stream) setTimer(wake time.Time) {
	switch {
	case wake.IsZero():
		if s.timer != nil {
			s.timer.Stop()
		}
		s.wakeAt = time.Time{}
	case wake.Equal(s.wakeAt):
	case s.timer == nil:
		s.wakeAt = wake
		s.timer = time.AfterFunc(time.Until(wake), s.tick)
	default:
		s.wakeAt = wake
		s.timer.Reset(time.Until(wake))
	}
}

func (s *stream) tick() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wakeAt = time.Time{}
	s.pump()
}

// send does one request and deals with its outcome.
func (s *stream) send(request *recordbatch.Request) {
	b := s.bodies.Get().(*buffers)
	b.body = request.AppendBody(b.body[:0], s.name.name, s.name.arn)
	started := time.Now()
	ctx, cancel := context.WithTimeout(context.Background(), s.k.Settings.RequestTimeout)
	answer, _, err := putBody(ctx, s.k.API, s.name, b.body, b.answer[:0])
	cancel()
	outcome := kinesisOutcome(err)
	if outcome.Kind == recordbatch.Answered {
		warning, err := request.ReadAnswer(answer)
		if err != nil {
			outcome = recordbatch.Outcome{Kind: recordbatch.Lost, Code: codeNoAnswer, Message: err.Error()}
		}
		if warning != "" {
			s.k.Logger.Warn("PutRecords "+s.name.String()+": "+warning, "records", len(request.Items))
		}
	}
	b.answer = answer
	if err == nil || outcome.Kind != recordbatch.Lost {
		// The transport may still read the body of a request that it gave up.
		s.bodies.Put(b)
	}
	s.finish(request, outcome, time.Since(started))
}

// finish hands each record's end to its call and goes on.
func (s *stream) finish(request *recordbatch.Request, outcome recordbatch.Outcome, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Done(request, outcome, time.Now())
	s.meters.request(request, outcome, took, s.queue)
	s.serial++
	for from := 0; from < len(request.Items); {
		call := request.Items[from].Call
		to := from + 1
		for to < len(request.Items) && request.Items[to].Call == call {
			to++
		}
		call.Owner.(*putCall).ended(request, from, to, outcome, s.serial)
		from = to
	}
	s.deny(request, outcome)
	s.watch(request.Moved)
	s.queue.Release(request)
	s.broadcast()
	s.pump()
}

// deny ends the calls whose stream isn't there or may not be written to.
func (s *stream) deny(request *recordbatch.Request, outcome recordbatch.Outcome) {
	if outcome.Kind != recordbatch.Denied {
		return
	}
	for _, it := range request.Items {
		if call := it.Call.Owner.(*putCall); !it.Call.Withdrawn() {
			call.deny(outcome)
			s.withdraw(call)
		}
	}
}

package kinesis

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"

	"sluice/activities"
	"sluice/activities/awscall"
	"sluice/internal/recordbatch"
)

func delayBefore(n int) time.Duration {
	ceiling := awscall.Backoff.Ceiling(n)
	return ceiling/2 + awscall.Backoff.Delay(n, rand.Float64())/2
}

// stream is a worker's producer for one stream: the queue, and what sends for
// it. Nothing of it runs while nothing waits: pushing records, answers and one
// timer move it.
type stream struct {
	k       *Activities
	name    streamName
	opening singleflight.Group // the first list of its shards

	mu     sync.Mutex
	queue  *recordbatch.Queue
	line   []*putCall // those that wait for room, in order
	serial uint64     // counts requests that have ended
	timer  *time.Timer
	wakeAt time.Time
	shards shardWatch

	meters streamMeters
	bodies bufferPool
	chunks sync.Pool // of *recordbatch.Chunk
}

func newStream(k *Activities, n streamName) *stream {
	s := &stream{k: k, name: n, meters: newStreamMeters(k.Metrics, n.String())}
	s.chunks.New = func() any { return &recordbatch.Chunk{Items: make([]recordbatch.Item, 0, chunkRecords)} }
	return s
}

// settings for the queue.
func (s *stream) settings() recordbatch.Settings {
	set := s.k.Settings
	return recordbatch.Settings{
		Limits:        set.Limits,
		FlushInterval: set.FlushInterval,
		Connections:   set.MaxConnections,
		BufferRecords: set.BufferRecords,
		BufferBytes:   set.BufferBytes,
		Shard:         set.Shard,
		Backoff:       delayBefore,
	}
}

// push queues items in order, waiting in line for room where there is none. It
// returns early when ctx ends or the call is withdrawn; what is not queued then
// is the caller's.
func (s *stream) push(ctx context.Context, call *putCall, items []recordbatch.Item) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	turn := len(s.line) == 0
	for !call.rules.Withdrawn() {
		if turn {
			items = items[s.queue.Push(items, time.Now()):]
			s.pump()
		}
		if len(items) == 0 {
			break
		}
		if err := s.waitInLine(ctx, call); err != nil {
			return err
		}
		turn = true
	}
	s.wakeLine()
	return nil
}

// waitInLine waits for this caller's turn to use what room there is. It is called
// with mu held, and gives it up meanwhile.
func (s *stream) waitInLine(ctx context.Context, call *putCall) error {
	s.line = append(s.line, call)
	s.pump()
	s.mu.Unlock()
	var err error
	select {
	case <-call.turn:
	case <-ctx.Done():
		err = ctx.Err()
	}
	s.mu.Lock()
	if err != nil {
		s.line = slices.DeleteFunc(s.line, func(c *putCall) bool { return c == call })
		s.wakeLine() // the turn may have come just now
	}
	return err
}

// wakeLine gives the first in line its turn, if there is room. It is called with mu
// held.
func (s *stream) wakeLine() {
	if len(s.line) == 0 || !s.queue.HasRoom(&s.line[0].rules) {
		return
	}
	activities.Notify(s.line[0].turn)
	s.line = s.line[1:]
}

// flush sends what waits without waiting for company.
func (s *stream) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Flush()
	s.pump()
}

// last is called when a call has queued its last record. It may wait for the
// company of other calls' records, unless nothing limits that wait.
func (s *stream) last() {
	if s.k.Settings.FlushInterval == 0 {
		s.flush()
	}
}

// withdraw takes back what waits of a call. It is called with mu held.
func (s *stream) withdraw(call *putCall) {
	s.queue.Withdraw(&call.rules)
	call.tell()
	s.wakeLine()
}

// settled waits until nothing of the call is queued or in flight.
func (s *stream) settled(ctx context.Context, call *putCall) error {
	for {
		s.mu.Lock()
		open := call.rules.Open()
		s.mu.Unlock()
		if open == 0 {
			return nil
		}
		select {
		case <-call.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// pump sends whatever is due and sets the timer for what is due later. It is
// called with mu held.
func (s *stream) pump() {
	for request := s.next(); request != nil; request = s.next() {
		go s.send(request)
	}
}

// next is a request that is due, or nil when the timer is set for the next one.
func (s *stream) next() *recordbatch.Request {
	request, wake := s.queue.Next(time.Now())
	if request == nil && len(s.line) > 0 && s.queue.InFlight() == 0 {
		// The buffer is full and no batch is: room comes from sending only.
		s.queue.Flush()
		request, wake = s.queue.Next(time.Now())
	}
	if request == nil {
		s.setTimer(wake)
	}
	return request
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

// send does a request, deals with its outcome, and goes on with the next that is
// due: a goroutine whose stack has grown to the SDK's depth is worth keeping.
func (s *stream) send(request *recordbatch.Request) {
	for request != nil {
		started := time.Now()
		outcome := s.exchange(request)
		request = s.finish(request, outcome, time.Since(started))
	}
}

// exchange sends a request and reads the answer into its verdicts.
func (s *stream) exchange(request *recordbatch.Request) recordbatch.Outcome {
	outcome, again := s.post(request, s.k.cbor())
	if again {
		outcome, _ = s.post(request, false)
	}
	return outcome
}

// post sends a request once, and says whether it is to be sent again in JSON.
func (s *stream) post(request *recordbatch.Request, cbor bool) (outcome recordbatch.Outcome, again bool) {
	x := &rawExchange{buffers: s.bodies.get(request.BodySize()), cbor: cbor}
	defer x.release()
	if cbor {
		x.body = x.encoder.AppendCBOR(x.body[:0], request, s.name.name, s.name.arn)
	} else {
		x.body = x.encoder.AppendJSON(x.body[:0], request, s.name.name, s.name.arn)
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.k.Settings.RequestTimeout)
	defer cancel()
	outcome = outcomeOf(putBody(ctx, s.k.API, s.name, x))
	if outcome.Kind != recordbatch.Answered {
		return outcome, s.k.judgeProtocol(x, outcome)
	}
	s.k.judgeProtocol(x, outcome)
	warning, err := request.ReadAnswer(x.answer)
	if err != nil {
		return recordbatch.Outcome{Kind: recordbatch.Lost, Code: codeNoAnswer, Message: err.Error()}, false
	}
	if warning != "" {
		s.k.Logger.Warn("PutRecords "+s.name.String()+": "+warning, "records", len(request.Items))
	}
	return outcome, false
}

// finish hands each record's end to its call. It returns the next request that
// is due.
func (s *stream) finish(request *recordbatch.Request, outcome recordbatch.Outcome, took time.Duration) *recordbatch.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue.Done(request, outcome, time.Now())
	s.meters.request(request, outcome, took, s.queue)
	s.settle(request, outcome)
	s.deny(request, outcome)
	s.watch(request.Moved)
	s.queue.Release(request)
	s.wakeLine()
	if request = s.next(); request != nil {
		s.pump()
	}
	return request
}

// settle hands the ends of a request's records to their calls. It is called with mu
// held.
func (s *stream) settle(request *recordbatch.Request, outcome recordbatch.Outcome) {
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
}

// chunk is memory for items, empty.
func (s *stream) chunk() *recordbatch.Chunk {
	c := s.chunks.Get().(*recordbatch.Chunk)
	c.Items = c.Items[:0]
	return c
}

// deny ends the calls whose stream isn't there or may not be written to.
func (s *stream) deny(request *recordbatch.Request, outcome recordbatch.Outcome) {
	if outcome.Kind != recordbatch.Denied {
		return
	}
	for i := range request.Items {
		it := &request.Items[i]
		if call := it.Call.Owner.(*putCall); !it.Call.Withdrawn() {
			call.deny(outcome)
			s.withdraw(call)
		}
	}
}

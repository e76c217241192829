package producer

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/backoff"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// States of a Producer.
const (
	Running = "RUNNING"
	Stopped = "STOPPED"
)

// Workflow is a durable buffer in front of a stream, for some hundred records a
// second: what `add` has accepted is sent, in order by key, once a batch is full
// or has waited, through any restart of workers. It owns the repeats: a batch is
// sent once by an activity, what failed stays in front. It ends when it is
// cancelled: what is buffered is sent first, as by a flush of half a minute, and
// what could not be sent is in the details of the end, as `add` takes it.
//
// Messages: updates add, flush, start, stop; queries status, events.
//
// History: an `add` costs 2 events, a batch 3, a wait for a fuller batch or for a repeat
// 2, besides workflow tasks. An idle Producer adds none.
func Workflow(ctx workflow.Context, raw json.RawMessage) error {
	p, err := newRun(ctx, raw)
	if err != nil {
		return err
	}
	shell.Hear(p.background, func(workflow.Context) { _ = p.show(ctx) }) // fails only where another does, which is told
	if err := p.listen(ctx); err != nil {
		return err
	}
	for {
		p.noticeCancel(ctx)
		p.age(ctx)
		if p.wantsSending(ctx) {
			p.send(ctx)
		}
		if err := p.show(ctx); err != nil {
			return err
		}
		if p.mayEnd(ctx) {
			now, err := p.next.Now(p.background)
			switch {
			case err != nil:
				return err
			case now:
				return p.end(ctx)
			}
			continue
		}
		p.dirty = false
		p.timer.Set(p.background, p.wakeAt(ctx), p.waitsFor())
		if err := workflow.Await(p.background, func() bool {
			return p.dirty || p.timer.Fired() || p.batchEnded() || p.mayEnd(ctx)
		}); err != nil {
			return err
		}
		if p.batchEnded() {
			p.settle(ctx)
		}
	}
}

// run is one run.
type run struct {
	state
	in         Input
	background workflow.Context                   // goes on when the workflow is cancelled
	batch      *shell.Future[wire.PutBatchOutput] // the batch that is out
	timer      shell.Timer
	dirty      bool // a message has changed something
	waiting    int  // flushes that wait for their answer
	closing    closing
	next       shell.RollOver
	attributes shell.Attributes
	details    string
}

func newRun(ctx workflow.Context, raw json.RawMessage) (*run, error) {
	background, _ := workflow.NewDisconnectedContext(ctx)
	p := &run{in: defaultInput(), background: background}
	p.State = Running
	if workflow.GetInfo(ctx).ContinuedExecutionRunID == "" {
		return p, shell.DecodeInput(ctx, wire.TypeProducer, raw, &p.in, &p.in)
	}
	var carried carried
	if err := json.Unmarshal(raw, &carried); err != nil {
		return nil, activities.Invalid(wire.TypeProducer, err)
	}
	p.in, p.state = carried.Input, carried.State
	return p, nil
}

// age lets all that waits go once the first of it has waited long enough.
func (p *run) age(ctx workflow.Context) {
	if len(p.Buffer.Records) == 0 {
		p.Since = time.Time{}
		return
	}
	if p.in.FlushInterval > 0 && !p.Since.IsZero() && !workflow.Now(ctx).Before(p.Since.Add(p.in.FlushInterval.Std())) {
		p.Buffer.Due, p.Since = len(p.Buffer.Records), time.Time{}
	}
}

// wantsSending says that a batch should go now. A run that is to be continued
// starts none.
func (p *run) wantsSending(ctx workflow.Context) bool {
	if p.batch != nil || len(p.Buffer.Records) == 0 || p.ending(ctx) || workflow.Now(ctx).Before(p.NextAttemptAt) {
		return false
	}
	return p.ready()
}

// ready says that there is a reason to send, but for the time.
func (p *run) ready() bool {
	if p.waiting > 0 || p.closing.flushes {
		return true
	}
	return p.State == Running && (len(p.Buffer.Records) >= p.in.BatchSize || p.Buffer.Due > 0)
}

// wakeAt is when something becomes due by itself; zero is never, so that an idle
// Producer sets no timer.
func (p *run) wakeAt(ctx workflow.Context) time.Time {
	switch {
	case p.batch != nil || len(p.Buffer.Records) == 0:
		return time.Time{}
	case p.ready():
		if p.ending(ctx) {
			return time.Time{}
		}
		return p.NextAttemptAt
	case p.State == Running && p.in.FlushInterval > 0 && !p.Since.IsZero():
		return p.Since.Add(p.in.FlushInterval.Std())
	}
	return time.Time{}
}

func (p *run) waitsFor() string {
	if p.ready() {
		return "until the batch is sent again, after an error"
	}
	return "until the first buffered record has waited for flushInterval"
}

func (p *run) batchEnded() bool { return p.batch != nil && p.batch.IsReady() }

// send puts a batch out.
func (p *run) send(ctx workflow.Context) {
	batch := p.Buffer.Take(p.in.BatchSize)
	in := wire.PutBatchInput{StreamName: p.in.Stream, Ordering: p.in.Ordering, Records: putRecords(batch)}
	if len(p.Buffer.Records) > len(batch) && p.Since.IsZero() {
		p.Since = workflow.Now(ctx)
	}
	options := activities.CallOptions()
	options.Summary = activities.Plural(len(batch), "record")
	p.batch = shell.Execute(workflow.WithActivityOptions(p.background, options), wire.PutBatch, in)
}

var repeatBackoff = backoff.Policy{Base: 50 * time.Millisecond, Cap: 10 * time.Second}

// settle takes in how the batch ended.
func (p *run) settle(ctx workflow.Context) {
	var out wire.PutBatchOutput
	err := p.batch.Get(ctx, &out)
	p.batch = nil
	n := p.Buffer.InFlight
	p.Buffer.Due = max(p.Buffer.Due, n) // what stays of it need not wait again
	if err != nil {
		p.failed(ctx, n, err)
		return
	}
	kept, failed := out.Held, out.Failed
	if callFailed(out) {
		// As long as the service is not there, no record loses an attempt.
		kept, failed = all(n), nil
	}
	stored, dropped := p.Buffer.Settle(recordbatch.Report{Failed: failed, Kept: kept, Refused: out.Refused,
		PossiblyDuplicated: out.PossiblyDuplicated}, p.in.MaxAttempts)
	for _, fault := range out.Errors {
		p.note(ctx, Event{Code: fault.Code, Message: fault.Message, Records: fault.Records})
	}
	if dropped > 0 {
		p.note(ctx, Event{Code: "Dropped", Records: dropped,
			Message: "refused for good, or too often"})
	}
	if stored > 0 || len(out.Errors) == 0 {
		p.ConsecutiveErrors, p.NextAttemptAt, p.LastErrorType = 0, time.Time{}, ""
	}
	if len(out.Errors) > 0 {
		p.KinesisErrors++
		p.LastErrorType = out.Errors[0].Type
		p.meter(ctx).Counter("sluice_producer_errors").Inc(1)
	}
	if stored == 0 && len(out.Errors) > 0 && dropped < n {
		p.backOff(ctx, n)
	}
}

// callFailed says that nothing was stored and the service failed as a whole.
func callFailed(out wire.PutBatchOutput) bool {
	if out.Stored > 0 || len(out.Errors) == 0 {
		return false
	}
	for _, fault := range out.Errors {
		if !fault.Call {
			return false
		}
	}
	return true
}

func all(n int) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = int64(i)
	}
	return list
}

// failed keeps a batch whose activity ended with an error.
func (p *run) failed(ctx workflow.Context, n int, err error) {
	p.Buffer.Settle(recordbatch.Report{Kept: all(n)}, p.in.MaxAttempts)
	details, _ := activities.DetailsOf(err)
	code := details.Code
	if code == "" {
		code = activities.TypeOf(err)
	}
	p.note(ctx, Event{Code: code, Message: rootMessage(err), Records: n})
	p.KinesisErrors++
	p.LastErrorType = shell.TroubleOf(err).Type
	p.meter(ctx).Counter("sluice_producer_errors").Inc(1)
	p.backOff(ctx, n)
}

// backOff waits before the next batch; after five errors in a row a Producer
// that is told to gives up the oldest batch of a full buffer.
func (p *run) backOff(ctx workflow.Context, n int) {
	p.ConsecutiveErrors++
	p.NextAttemptAt = workflow.Now(ctx).Add(repeatBackoff.Ceiling(p.ConsecutiveErrors))
	const errorsBeforeDrop = 5
	if p.in.DropWhenFull && p.ConsecutiveErrors >= errorsBeforeDrop && p.Buffer.Full(p.in.bounds()) {
		p.Buffer.Drop(n)
		p.note(ctx, Event{Code: "Dropped", Records: n, Message: "the buffer is full and Kinesis does not answer: the oldest batch was given up"})
	}
}

package producer

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/recordbatch"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// AddAnswer is the answer of `add`.
type AddAnswer struct {
	Accepted int `json:"accepted"`
	Buffered int `json:"buffered"`
}

// FlushAnswer is the answer of `flush`: what was sent since it was asked, and
// what of the records accepted before is still owed, in flight or waiting.
type FlushAnswer struct {
	Sent      int64 `json:"sent"`
	Remaining int   `json:"remaining"`
}

// maxEvents are kept for the query `events`.
const maxEvents = 100

// maxFlushes may wait at once, so that ten updates in flight, which is all that
// the server allows, always leave room for an `add` or a `stop`.
const maxFlushes = 4

// listen sets up the messages.
func (p *run) listen(ctx workflow.Context) error {
	return errors.Join(
		workflow.SetQueryHandlerWithOptions(ctx, wire.QueryStatus, func() (Status, error) { return p.view(), nil },
			workflow.QueryHandlerOptions{Description: "The state, and what is buffered, sent and dropped."}),
		workflow.SetQueryHandlerWithOptions(ctx, wire.QueryEvents, func() ([]Event, error) { return append([]Event{}, p.Events...), nil },
			workflow.QueryHandlerOptions{Description: "The last 100 errors, newest last."}),
		workflow.SetUpdateHandlerWithOptions(ctx, wire.UpdateAdd, p.add, workflow.UpdateHandlerOptions{
			Description: "Accept records to be sent.",
			Validator: func(_ workflow.Context, raw json.RawMessage) error {
				records, err := readAdd(raw)
				if err != nil {
					return err
				}
				if err := p.mayAdd(ctx, records); !p.makesRoom(err) {
					return err
				}
				return nil
			}}),
		workflow.SetUpdateHandlerWithOptions(ctx, wire.UpdateFlush, p.flush, workflow.UpdateHandlerOptions{
			Description: "Send all that was accepted so far.",
			Validator: func(_ workflow.Context, raw json.RawMessage) error {
				if _, err := readFlush(raw); err != nil {
					return err
				}
				return p.mayFlush()
			}}),
		p.handleSwitch(ctx, wire.UpdateStart, Running, "Send again.", "already started"),
		p.handleSwitch(ctx, wire.UpdateStop, Stopped, "Send no more; what is buffered stays.", "already stopped"),
	)
}

// mayAdd refuses records that can't be taken in now, or ever.
func (p *run) mayAdd(ctx workflow.Context, records []recordbatch.Buffered) error {
	bytes := 0
	for i := range records {
		bytes += records[i].Encoded()
	}
	bounds := p.in.bounds()
	switch {
	case p.canceled(ctx):
		return p.conflict(wire.UpdateAdd, "the producer is cancelled")
	case p.State != Running:
		return p.conflict(wire.UpdateAdd, "the producer is "+p.State)
	case len(records) > bounds.Records || bytes > bounds.Bytes:
		return tooLarge(wire.UpdateAdd, fmt.Sprintf("%d records of %d bytes in JSON are more than the whole buffer holds (%d and %d); add them in parts",
			len(records), bytes, bounds.Records, bounds.Bytes))
	case !p.Buffer.Fits(len(records), bytes, bounds):
		delay := p.fullFor(ctx)
		return activities.Fail(activities.TypeThrottled, activities.Failure{
			ErrorDetails: activities.ErrorDetails{Operation: wire.UpdateAdd, Target: p.in.Stream},
			Message: fmt.Sprintf("the buffer is full (%d records of %d bytes wait); ask again in %s",
				len(p.Buffer.Records), p.Buffer.Bytes, delay.Round(time.Millisecond)),
			Delay: delay,
		})
	}
	return nil
}

// fullFor guesses how long until there is room: when the next batch can have
// been sent.
func (p *run) fullFor(ctx workflow.Context) time.Duration {
	const batchTakes = 200 * time.Millisecond
	return max(batchTakes, p.NextAttemptAt.Sub(workflow.Now(ctx))+batchTakes)
}

// makesRoom says that a refusal has to be answered by the handler, which can send
// what waits: without a flush interval nothing but a full batch goes by itself,
// and a buffer that has no room for more never fills one.
func (p *run) makesRoom(err error) bool {
	return activities.TypeOf(err) == activities.TypeThrottled && p.in.FlushInterval == 0 && p.batch == nil && !p.ready()
}

func (p *run) add(ctx workflow.Context, raw json.RawMessage) (AddAnswer, error) {
	records, err := readAdd(raw)
	if err == nil {
		err = p.mayAdd(ctx, records)
	}
	if p.makesRoom(err) {
		p.Buffer.Due = len(p.Buffer.Records)
		p.dirty = true
	}
	if err != nil {
		return AddAnswer{}, err
	}
	p.Buffer.Add(records)
	if p.Since.IsZero() && len(records) > 0 {
		p.Since = workflow.Now(ctx)
	}
	p.dirty = true
	return AddAnswer{Accepted: len(records), Buffered: len(p.Buffer.Records)}, nil
}

func (p *run) mayFlush() error {
	if p.waiting < maxFlushes {
		return nil
	}
	return activities.Fail(activities.TypeThrottled, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.UpdateFlush, Target: p.in.Stream},
		Message:      "four flushes are under way already", Delay: time.Second})
}

func (p *run) flush(ctx workflow.Context, raw json.RawMessage) (FlushAnswer, error) {
	m, err := readFlush(raw)
	if err == nil {
		err = p.mayFlush()
	}
	if err != nil {
		return FlushAnswer{}, err
	}
	if m.Stop {
		p.State = Stopped
	}
	before, mark := p.Buffer.Sent, p.Buffer.Follow()
	defer p.Buffer.Forget(mark)
	p.waiting++
	p.dirty = true
	if m.Wait > 0 && mark.Left > 0 {
		_, err = workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout: m.Wait.Std(), TimerOptions: workflow.TimerOptions{Summary: "answer of flush"},
		}, func() bool { return mark.Left == 0 || p.canceled(ctx) || p.rolling(ctx) && p.batch == nil })
	}
	p.waiting--
	p.dirty = true
	if p.canceled(ctx) {
		err = nil // it tells how far it is; the Producer itself goes on sending
	}
	if p.State == Running {
		p.Buffer.Due = max(p.Buffer.Due, mark.Left) // goes on though nobody waits
	}
	return FlushAnswer{Sent: p.Buffer.Sent - before, Remaining: mark.Left}, err
}

// handleSwitch sets up start or stop.
func (p *run) handleSwitch(ctx workflow.Context, name, state, description, already string) error {
	read := func(raw json.RawMessage) error {
		if err := shell.Decode(name, raw, &noInput{}); err != nil {
			return err
		}
		if p.State == state {
			return p.conflict(name, already)
		}
		return nil
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, name,
		func(_ workflow.Context, raw json.RawMessage) (Status, error) {
			if err := read(raw); err != nil {
				return Status{}, err
			}
			p.State, p.dirty = state, true
			return p.view(), nil
		},
		workflow.UpdateHandlerOptions{Description: description, Validator: func(_ workflow.Context, raw json.RawMessage) error { return read(raw) }})
}

func (p *run) conflict(operation, message string) error {
	return activities.Fail(activities.TypeConflict, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: operation, Target: p.in.Stream}, Message: message})
}

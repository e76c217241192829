package producer

import (
	"fmt"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
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
	return new(shell.Inbox).Listen(ctx,
		shell.OnQuery(wire.QueryStatus, "The state, and what is buffered, sent and dropped.", func() (Status, error) { return p.view(), nil }),
		shell.OnQuery(wire.QueryEvents, "The last 100 errors, newest last.", func() ([]Event, error) { return append([]Event{}, p.Events...), nil }),
		shell.OnUpdate(wire.UpdateAdd, "Accept records to be sent.", p.add).If(func(ctx workflow.Context, in addInput) error {
			if err := p.mayAdd(ctx, in); !p.makesRoom(err) {
				return err
			}
			return nil
		}),
		shell.OnUpdate(wire.UpdateFlush, "Send all that was accepted so far.", p.flush).Over(defaultFlush).If(p.mayFlush),
		p.switchTo(wire.UpdateStart, Running, "Send again.", "already started"),
		p.switchTo(wire.UpdateStop, Stopped, "Send no more; what is buffered stays.", "already stopped"),
	)
}

// mayAdd refuses records that can't be taken in now, or ever.
func (p *run) mayAdd(ctx workflow.Context, in addInput) error {
	bytes := 0
	for i := range in.records {
		bytes += in.records[i].Encoded()
	}
	bounds := p.in.bounds()
	switch {
	case p.canceled(ctx):
		return shell.Refused(ctx, wire.UpdateAdd, activities.TypeConflict, "the producer is cancelled")
	case p.State != Running:
		return shell.Refused(ctx, wire.UpdateAdd, activities.TypeConflict, "the producer is "+p.State)
	case len(in.records) > bounds.Records || bytes > bounds.Bytes:
		return shell.Refused(ctx, wire.UpdateAdd, activities.TypeTooLarge,
			fmt.Sprintf("%d records of %d bytes in JSON are more than the whole buffer holds (%d and %d); add them in parts",
				len(in.records), bytes, bounds.Records, bounds.Bytes))
	case !p.Buffer.Fits(len(in.records), bytes, bounds):
		delay := p.fullFor(ctx)
		return shell.Refused(ctx, wire.UpdateAdd, activities.TypeThrottled,
			fmt.Sprintf("the buffer is full (%d records of %d bytes wait); ask again in %s",
				len(p.Buffer.Records), p.Buffer.Bytes, delay.Round(time.Millisecond)), delay)
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

func (p *run) add(ctx workflow.Context, in addInput) (AddAnswer, error) {
	if err := p.mayAdd(ctx, in); err != nil {
		if p.makesRoom(err) {
			p.Buffer.Due = len(p.Buffer.Records)
			p.dirty = true
		}
		return AddAnswer{}, err
	}
	p.Buffer.Add(in.records)
	if p.Since.IsZero() && len(in.records) > 0 {
		p.Since = workflow.Now(ctx)
	}
	p.dirty = true
	return AddAnswer{Accepted: len(in.records), Buffered: len(p.Buffer.Records)}, nil
}

func (p *run) mayFlush(ctx workflow.Context, _ flushInput) error {
	if p.waiting < maxFlushes {
		return nil
	}
	return shell.Refused(ctx, wire.UpdateFlush, activities.TypeThrottled, "four flushes are under way already", time.Second)
}

func (p *run) flush(ctx workflow.Context, in flushInput) (answer FlushAnswer, err error) {
	if err := p.mayFlush(ctx, in); err != nil {
		return answer, err
	}
	if in.Stop {
		p.State = Stopped
	}
	before, mark := p.Buffer.Sent, p.Buffer.Follow()
	defer p.Buffer.Forget(mark)
	p.waiting++
	p.dirty = true
	if in.Wait > 0 && mark.Left > 0 {
		_, err = workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
			Timeout: in.Wait.Std(), TimerOptions: workflow.TimerOptions{Summary: "answer of flush"},
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

// switchTo is start or stop.
func (p *run) switchTo(name, state, description, already string) shell.Message {
	may := func(ctx workflow.Context, _ struct{}) error {
		if p.State == state {
			return shell.Refused(ctx, name, activities.TypeConflict, already)
		}
		return nil
	}
	return shell.OnUpdate(name, description, func(ctx workflow.Context, in struct{}) (Status, error) {
		if err := may(ctx, in); err != nil {
			return Status{}, err
		}
		p.State, p.dirty = state, true
		return p.view(), nil
	}).If(may)
}

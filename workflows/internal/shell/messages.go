package shell

import (
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
)

// Message is an update, a signal or a query that a workflow listens to.
type Message interface {
	hold(ctx workflow.Context, inbox *Inbox)
	answer(ctx workflow.Context) error
}

// Listen is the one way in which a workflow gets messages. Their inputs are decoded
// strictly, over their defaults. The inbox holds the signals among them; queries are
// answered from now on, and so are updates: those that have come before are handled
// while Listen sets them up.
func (b *Inbox) Listen(ctx workflow.Context, messages ...Message) error {
	b.arrivals = arrivalsOf(ctx)
	for _, m := range messages {
		m.hold(ctx, b)
	}
	var failed error
	for _, m := range messages {
		failed = errors.Join(failed, m.answer(ctx))
	}
	return failed
}

// decode reads the input of a message. Its error names the message and the workflow.
func decode[In any](ctx workflow.Context, name string, raw json.RawMessage, defaults func() In) (in In, err error) {
	if defaults != nil {
		in = defaults()
	}
	details := about(ctx, name)
	return in, Decode(details.Operation, raw, &in, details.Target)
}

// about names a message and the workflow that it is for.
func about(ctx workflow.Context, name string) activities.ErrorDetails {
	info := workflow.GetInfo(ctx)
	return activities.ErrorDetails{Operation: info.WorkflowType.Name + " " + name, Target: info.WorkflowExecution.ID}
}

// Refused is the error that a message gets which can't be carried out now.
func Refused(ctx workflow.Context, name, errType, why string, delay ...time.Duration) error {
	failure := activities.Failure{ErrorDetails: about(ctx, name), Message: why}
	for _, d := range delay {
		failure.Delay = d
	}
	return activities.Fail(errType, failure)
}

// Update is a message that is answered.
type Update[In, Out any] struct {
	name, description string
	handle            func(workflow.Context, In) (Out, error)
	defaults          func() In
	check             func(workflow.Context, In) error
	take              func(workflow.Context, In) error
	read              accepted[In]
}

// accepted is the input that a validator read last. The handler that follows it gets
// the same bytes and need not read them again; in a replay there is no validator.
type accepted[In any] struct {
	raw json.RawMessage
	in  In
}

// of reports whether these are the bytes that were read, not only equal ones.
func (a *accepted[In]) of(raw json.RawMessage) bool {
	return len(raw) > 0 && len(raw) == len(a.raw) && &raw[0] == &a.raw[0]
}

// OnUpdate answers an update. handle may wait.
func OnUpdate[In, Out any](name, description string, handle func(workflow.Context, In) (Out, error)) *Update[In, Out] {
	return &Update[In, Out]{name: name, description: description, handle: handle}
}

// Over gives the input its defaults.
func (u *Update[In, Out]) Over(defaults func() In) *Update[In, Out] {
	u.defaults = defaults
	return u
}

// If refuses the update, which then leaves nothing in history, where check fails.
// check may change nothing.
func (u *Update[In, Out]) If(check func(workflow.Context, In) error) *Update[In, Out] {
	u.check = check
	return u
}

// AndSignal takes a signal of the same name and input too. take must not wait.
func (u *Update[In, Out]) AndSignal(take func(workflow.Context, In) error) *Update[In, Out] {
	u.take = take
	return u
}

func (u *Update[In, Out]) hold(ctx workflow.Context, inbox *Inbox) {
	if u.take != nil {
		signal[In]{u.name, u.defaults, u.take}.hold(ctx, inbox)
	}
}

func (u *Update[In, Out]) answer(ctx workflow.Context) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, u.name,
		func(ctx workflow.Context, raw json.RawMessage) (out Out, err error) {
			in := u.read.in
			if !u.read.of(raw) {
				if in, err = decode(ctx, u.name, raw, u.defaults); err != nil {
					return out, err
				}
			}
			u.read = accepted[In]{}
			return u.handle(ctx, in)
		},
		workflow.UpdateHandlerOptions{
			Description: u.description,
			Validator: func(ctx workflow.Context, raw json.RawMessage) error {
				in, err := decode(ctx, u.name, raw, u.defaults)
				if err == nil && u.check != nil {
					err = u.check(ctx, in)
				}
				if err == nil {
					u.read = accepted[In]{raw, in}
				}
				return err
			},
		})
}

// signal is a message that is not answered.
type signal[In any] struct {
	name     string
	defaults func() In
	take     func(workflow.Context, In) error
}

// OnSignal takes a signal, which has no effect where it is refused. take must not
// wait.
func OnSignal[In any](name string, take func(workflow.Context, In) error) Message {
	return signal[In]{name, nil, take}
}

func (s signal[In]) hold(ctx workflow.Context, inbox *Inbox) {
	inbox.add(ctx, s.name, func(ctx workflow.Context, raw json.RawMessage) error {
		in, err := decode(ctx, s.name, raw, s.defaults)
		if err != nil {
			return err
		}
		return s.take(ctx, in)
	})
}

func (signal[In]) answer(workflow.Context) error { return nil }

// query is a question.
type query struct {
	name, description string
	handler           func(workflow.Context) any
}

// OnQuery answers a query without an input.
func OnQuery[Out any](name, description string, answer func() (Out, error)) Message {
	return query{name, description, func(workflow.Context) any { return answer }}
}

// OnQueryOf answers a query with an input, which has defaults.
func OnQueryOf[In, Out any](name, description string, defaults func() In, answer func(In) (Out, error)) Message {
	return query{name, description, func(ctx workflow.Context) any {
		return func(raw json.RawMessage) (out Out, err error) {
			in, err := decode(ctx, name, raw, defaults)
			if err != nil {
				return out, err
			}
			return answer(in)
		}
	}}
}

func (query) hold(workflow.Context, *Inbox) {}

func (q query) answer(ctx workflow.Context) error {
	return workflow.SetQueryHandlerWithOptions(ctx, q.name, q.handler(ctx), workflow.QueryHandlerOptions{Description: q.description})
}

package shell

import (
	"encoding/json"

	"go.temporal.io/sdk/workflow"
)

// Inbox holds the signals of a run that have come and were not handled yet. It is
// the only way in which a workflow receives signals. The SDK hands a signal to
// whichever coroutine blocks in a receive, and that coroutine never runs again
// where the main line ends its run in the same task: the signal is gone. The
// inbox never blocks in a receive. take receives and handles in one step, so that
// a signal is either handled or still here, where a run that continues as new
// takes it before it ends.
type Inbox struct {
	arrivals *arrivals
	names    []string // where the order of arrival is not known, these go first to last
	channels []workflow.ReceiveChannel
}

// NewInbox holds the signals of these names.
func NewInbox(ctx workflow.Context, names ...string) *Inbox {
	b := &Inbox{arrivals: arrivalsOf(ctx), names: names}
	for _, name := range names {
		b.channels = append(b.channels, workflow.GetSignalChannel(ctx, name))
	}
	return b
}

// Pending reports that there are signals to take; it is what to wait for.
func (b *Inbox) Pending() bool {
	for _, c := range b.channels {
		if c.Len() > 0 {
			return true
		}
	}
	return false
}

// Take handles all signals that are there, in the order of their arrival. What
// handle refuses is logged and has no effect. handle must not block.
func (b *Inbox) Take(ctx workflow.Context, handle func(name string, raw json.RawMessage) error) {
	for {
		name, raw, ok := b.next()
		if !ok {
			return
		}
		if err := handle(name, raw); err != nil {
			workflow.GetLogger(ctx).Warn("signal ignored", "signal", name, "error", err)
		}
	}
}

// Serve takes signals whenever some come, for as long as the context lives. It
// is for a workflow whose main line waits for something else; it starts no
// coroutine that a signal could be lost in.
func (b *Inbox) Serve(ctx workflow.Context, handle func(name string, raw json.RawMessage) error) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.Await(ctx, b.Pending) == nil {
			b.Take(ctx, handle)
		}
	})
}

// next is the signal that came first. Those of names that the inbox does not
// have are passed over.
func (b *Inbox) next() (name string, raw json.RawMessage, ok bool) {
	for {
		name, known := b.arrivals.next()
		if !known {
			break
		}
		for i := range b.names {
			if name == b.names[i] && b.channels[i].ReceiveAsync(&raw) {
				return name, raw, true
			}
		}
	}
	for i, name := range b.names {
		if b.channels[i].ReceiveAsync(&raw) {
			return name, raw, true
		}
	}
	return "", nil, false
}

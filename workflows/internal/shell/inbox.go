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
	boxes    []box // where the order of arrival is not known, these go first to last
}

// box is a signal that the inbox holds, and who takes it.
type box struct {
	name    string
	channel workflow.ReceiveChannel
	take    func(workflow.Context, json.RawMessage) error
}

// add has the inbox hold signals of a name.
func (b *Inbox) add(ctx workflow.Context, name string, take func(workflow.Context, json.RawMessage) error) {
	b.boxes = append(b.boxes, box{name, workflow.GetSignalChannel(ctx, name), take})
}

// Pending reports that there are signals to take; it is what to wait for.
func (b *Inbox) Pending() bool {
	for _, in := range b.boxes {
		if in.channel.Len() > 0 {
			return true
		}
	}
	return false
}

// Take has all signals that are there taken, in the order of their arrival. What is
// refused is logged and has no effect.
func (b *Inbox) Take(ctx workflow.Context) {
	for {
		in, raw := b.next()
		if in == nil {
			return
		}
		if err := in.take(ctx, raw); err != nil {
			workflow.GetLogger(ctx).Warn("signal ignored", "signal", in.name, "error", err)
		}
	}
}

// Serve takes signals whenever some come, for as long as the context lives. It
// is for a workflow whose main line waits for something else; it starts no
// coroutine that a signal could be lost in.
func (b *Inbox) Serve(ctx workflow.Context) {
	workflow.Go(ctx, func(ctx workflow.Context) {
		for workflow.Await(ctx, b.Pending) == nil {
			b.Take(ctx)
		}
	})
}

// next is the signal that came first; nil where there is none. Those of names that
// the inbox does not have are passed over.
func (b *Inbox) next() (in *box, raw json.RawMessage) {
	for {
		name, known := b.arrivals.next()
		if !known {
			break
		}
		for i := range b.boxes {
			if in := &b.boxes[i]; name == in.name && in.channel.ReceiveAsync(&raw) {
				return in, raw
			}
		}
	}
	for i := range b.boxes {
		if in := &b.boxes[i]; in.channel.ReceiveAsync(&raw) {
			return in, raw
		}
	}
	return nil, nil
}

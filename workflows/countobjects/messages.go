package countobjects

import (
	"encoding/json"
	"strings"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/document"
	"sluice/internal/duration"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// ending is the input of `drain`, which answers how far it is after a while.
type ending struct {
	Wait duration.Duration `json:"wait"`
}

const (
	defaultCountWait = duration.Duration(30 * time.Second)
	longestCountWait = duration.Duration(time.Minute)
)

// Check adds what is wrong with the values.
func (w *ending) Check(faults *document.Faults) {
	if w.Wait > longestCountWait {
		faults.Add("wait", "%s is above %s", w.Wait, longestCountWait)
	}
}

func (m *monitor) handle(ctx workflow.Context) error {
	if err := workflow.SetQueryHandler(ctx, wire.QueryStatus, m.status); err != nil {
		return err
	}
	if err := m.handleStop(ctx); err != nil {
		return err
	}
	if err := m.handleDrain(ctx); err != nil {
		return err
	}
	return m.handleHolders(ctx)
}

// handleStop sets up the message that ends the counting after the batch under way. It
// is answered at once.
func (m *monitor) handleStop(ctx workflow.Context) error {
	read := func(raw json.RawMessage) error { return shell.Decode(wire.UpdateStop, raw, &struct{}{}) }
	return workflow.SetUpdateHandlerWithOptions(ctx, wire.UpdateStop, func(_ workflow.Context, raw json.RawMessage) (Status, error) {
		if err := read(raw); err != nil {
			return Status{}, err
		}
		m.endAs(countStopped)
		return m.status()
	}, workflow.UpdateHandlerOptions{Validator: read})
}

// handleDrain sets up the message that ends the counting once nothing is left to count.
func (m *monitor) handleDrain(ctx workflow.Context) error {
	read := func(raw json.RawMessage) (ending, error) {
		in := ending{Wait: defaultCountWait}
		err := shell.Decode(wire.UpdateDrain, raw, &in)
		return in, err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, wire.UpdateDrain, func(ctx workflow.Context, raw json.RawMessage) (Status, error) {
		in, err := read(raw)
		if err != nil {
			return Status{}, err
		}
		m.endAs(countDraining)
		if _, err := shell.AwaitFor(ctx, in.Wait.Std(), "until stop or drain is answered", func() bool { return m.over }); err != nil {
			return Status{}, err
		}
		return m.status()
	}, workflow.UpdateHandlerOptions{Validator: func(raw json.RawMessage) error {
		_, err := read(raw)
		return err
	}})
}

// endAs carries a message out that leads to the end. A stop overrules a drain.
func (m *monitor) endAs(state string) {
	if m.state == countOpen || m.state == countDraining && state == countStopped {
		m.state = state
		m.counting.Interrupt()
	}
}

// queueOf is the name of the queue of a URL.
func queueOf(url string) string { return url[strings.LastIndex(url, "/")+1:] }

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

// ending is the input of updates that answer how far they are after a while.
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
	if err := m.handleEnding(ctx, wire.UpdateStop, countStopped); err != nil {
		return err
	}
	if err := m.handleEnding(ctx, wire.UpdateDrain, countDraining); err != nil {
		return err
	}
	return m.handleHolders(ctx)
}

// handleEnding sets up a message that leads to the end. A stop overrules a drain.
func (m *monitor) handleEnding(ctx workflow.Context, name, state string) error {
	read := func(raw json.RawMessage) (ending, error) {
		in := ending{Wait: defaultCountWait}
		err := shell.Decode(name, raw, &in)
		return in, err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, name, func(ctx workflow.Context, raw json.RawMessage) (Status, error) {
		in, err := read(raw)
		if err != nil {
			return Status{}, err
		}
		if m.state == countOpen || m.state == countDraining && state == countStopped {
			m.state = state
			m.counting.Interrupt()
		}
		if _, err := workflow.AwaitWithTimeout(ctx, in.Wait.Std(), func() bool { return m.over }); err != nil {
			return Status{}, err
		}
		return m.status()
	}, workflow.UpdateHandlerOptions{Validator: func(raw json.RawMessage) error {
		_, err := read(raw)
		return err
	}})
}

// queueOf is the name of the queue of a URL.
func queueOf(url string) string { return url[strings.LastIndex(url, "/")+1:] }

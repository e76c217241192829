package countobjects

import (
	"encoding/json"
	"slices"

	"go.temporal.io/sdk/workflow"

	"sluice/activities"
	"sluice/internal/wire"
	"sluice/workflows/internal/shell"
)

// mostHolders bounds what a run carries; an ID has at most a thousand bytes.
const mostHolders = 500

// handleHolders sets up the messages of ingestions that share the counter.
func (m *monitor) handleHolders(ctx workflow.Context) error {
	if err := m.handleHolder(ctx, wire.UpdateJoin, m.join); err != nil {
		return err
	}
	return m.handleHolder(ctx, wire.UpdateLeave, m.leave)
}

func (m *monitor) handleHolder(ctx workflow.Context, name string, handle func(workflow.Context, string)) error {
	read := func(raw json.RawMessage) (in wire.CountHolder, err error) {
		err = shell.Decode(name, raw, &in)
		return in, err
	}
	return workflow.SetUpdateHandlerWithOptions(ctx, name, func(ctx workflow.Context, raw json.RawMessage) (wire.CountHolders, error) {
		in, err := read(raw)
		if err != nil {
			return wire.CountHolders{}, err
		}
		handle(ctx, in.Holder)
		return wire.CountHolders{Holders: slices.Clone(m.holders)}, nil
	}, workflow.UpdateHandlerOptions{Validator: func(raw json.RawMessage) error {
		if _, err := read(raw); err != nil {
			return err
		}
		switch {
		case name == wire.UpdateJoin && (m.state != countOpen || m.over):
			return m.conflict("it is about to end")
		case name == wire.UpdateJoin && len(m.holders) >= mostHolders:
			return m.conflict("too many ingestions have joined it")
		}
		return nil
	}})
}

func (m *monitor) conflict(why string) error {
	return activities.Fail(activities.TypeConflict, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.UpdateJoin, Target: wire.CountID(m.in.QueueURL)}, Message: why,
	})
}

func (m *monitor) join(_ workflow.Context, holder string) {
	if !slices.Contains(m.holders, holder) {
		m.holders = append(m.holders, holder)
	}
}

// leave takes a holder out. With the last the counter ends, if an ingestion started
// it: somebody else's goes on.
func (m *monitor) leave(ctx workflow.Context, holder string) {
	at := slices.Index(m.holders, holder)
	if at < 0 {
		return
	}
	m.holders = slices.Delete(m.holders, at, at+1)
	_, ofIngestion := workflow.GetInfo(ctx).Memo.GetFields()[wire.MemoStartedBy]
	if len(m.holders) == 0 && ofIngestion && m.state == countOpen {
		m.endAs(countStopped)
	}
}

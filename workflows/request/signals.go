package request

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"

	"sluice/internal/wire"
)

// takeSignals applies the signals that have come. What an update would refuse
// has no effect.
func (r *request) takeSignals(ctx workflow.Context, now time.Time) {
	r.signals.Take(ctx, func(name string, raw json.RawMessage) error {
		if name == wire.SignalStopping {
			return r.hearChild(raw)
		}
		m, err := r.readSignal(name, raw)
		if err != nil {
			return err
		}
		return refused(name, r.id, m.apply(&r.gate, now))
	})
}

func (r *request) readSignal(name string, raw json.RawMessage) (message, error) {
	switch name {
	case wire.UpdateSuspend:
		return r.readSuspend(raw)
	case wire.UpdateResume:
		return r.readResume(raw)
	default:
		return r.readStop(raw)
	}
}

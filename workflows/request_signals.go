package workflows

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"
)

// takeSignals applies the signals that have come. What an update would refuse
// has no effect.
func (r *request) takeSignals(ctx workflow.Context, now time.Time) {
	r.signals.take(ctx, func(name string, raw json.RawMessage) error {
		m, err := r.readSignal(name, raw)
		if err != nil {
			return err
		}
		return refused(name, r.id, m.apply(&r.gate, now))
	})
}

func (r *request) readSignal(name string, raw json.RawMessage) (message, error) {
	switch name {
	case UpdateSuspend:
		return r.readSuspend(raw)
	case UpdateResume:
		return r.readResume(raw)
	default:
		return r.readStop(raw)
	}
}

package workflows

import (
	"encoding/json"
	"time"

	"go.temporal.io/sdk/workflow"
)

// requestSignalNames are the signals of a request, in the order in which they
// count where the worker does not know the order of their arrival.
var requestSignalNames = [...]string{UpdateSuspend, UpdateResume, UpdateStop}

// requestSignals are the signals that have come and were not taken yet.
type requestSignals struct {
	root     workflow.Context // the workflow's own, which Temporal's cancel ends
	arrivals *arrivals
	channels [len(requestSignalNames)]workflow.ReceiveChannel
}

func newRequestSignals(ctx workflow.Context) requestSignals {
	s := requestSignals{root: ctx, arrivals: arrivalsOf(ctx)}
	for i, name := range requestSignalNames {
		s.channels[i] = workflow.GetSignalChannel(ctx, name)
	}
	return s
}

func (s *requestSignals) pending() bool {
	for _, c := range s.channels {
		if c.Len() > 0 {
			return true
		}
	}
	return false
}

// next takes the signal that came first.
func (s *requestSignals) next() (name string, raw json.RawMessage, ok bool) {
	for {
		name, ok := s.arrivals.next()
		if !ok {
			break
		}
		for i, known := range requestSignalNames {
			if name == known && s.channels[i].ReceiveAsync(&raw) {
				return name, raw, true
			}
		}
	}
	for i, name := range requestSignalNames {
		if s.channels[i].ReceiveAsync(&raw) {
			return name, raw, true
		}
	}
	return "", nil, false
}

// takeSignals applies the signals in the order of their arrival. What an update
// would refuse is logged and has no effect.
func (r *request) takeSignals(ctx workflow.Context, now time.Time) {
	for {
		name, raw, ok := r.signals.next()
		if !ok {
			return
		}
		m, err := r.readSignal(name, raw)
		if err == nil {
			err = refused(name, r.id, m.apply(&r.gate, now))
		}
		if err != nil {
			workflow.GetLogger(ctx).Warn("signal ignored", "signal", name, "error", err)
		}
	}
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

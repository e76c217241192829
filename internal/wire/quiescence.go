package wire

import (
	"time"

	"sluice/internal/quiescence"
)

// WatchInput is what Watch goes on from.
type WatchInput struct {
	Source Source           `json:"source"`
	Rule   quiescence.Rule  `json:"rule"`
	State  quiescence.State `json:"state"`
	// LateUntil is when the watch ends that follows the first quiet; zero before
	// that.
	LateUntil time.Time `json:"lateUntil,omitzero"`
}

// WatchReport is what Watch found out.
type WatchReport struct {
	State quiescence.State `json:"state"`
	// Reason is why the generation ended (quiescence.Reason…), "" for a report in
	// between: the phase changed.
	Reason string `json:"reason,omitempty"`
	// Over says that the watch after the first quiet ended without news.
	Over bool      `json:"over,omitempty"`
	At   time.Time `json:"at"`
}

// WatchBeat is what Watch heartbeats: its state, and for people what follows from
// it.
type WatchBeat struct {
	quiescence.State
	QuietAt time.Time `json:"quietAt,omitzero"`
}

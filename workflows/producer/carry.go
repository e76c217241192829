package producer

import (
	"time"

	"sluice/internal/recordbatch"
)

// state is what a run carries to the next.
type state struct {
	State             string             `json:"state"`
	Buffer            recordbatch.Buffer `json:"buffer"`
	Since             time.Time          `json:"since,omitzero"` // when the first record that waits for a fuller batch came
	KinesisErrors     int64              `json:"kinesisErrors"`
	ConsecutiveErrors int                `json:"consecutiveErrors"`
	NextAttemptAt     time.Time          `json:"nextAttemptAt,omitzero"`
	LastErrorType     string             `json:"lastErrorType,omitempty"` // of the errors in a row
	Events            []Event            `json:"events"`
}

// carried is the input of a run that continues another.
type carried struct {
	Input
	State state `json:"carried"`
}

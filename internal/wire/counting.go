package wire

import (
	"time"

	"sluice/internal/duration"
	"sluice/internal/errortype"
	"sluice/internal/quiescence"
)

// CountInput says what to count, and goes on from the figures of the run before.
type CountInput struct {
	QueueURL    string       `json:"queueUrl"`
	Table       string       `json:"table"`
	PrefixDepth int          `json:"prefixDepth"` // 0: a counter a bucket
	Drain       bool         `json:"drain"`       // return when a poll finds nothing
	Figures     CountFigures `json:"figures"`
}

// CountFigures is what a monitor has done since it was started.
type CountFigures struct {
	Messages   int64 `json:"messages"`   // received and dealt with
	Events     int64 `json:"events"`     // in them, about objects that came or went
	News       int64 `json:"news"`       // objects of which they told something new
	Passed     int64 `json:"passed"`     // records about other things, test events
	Unreadable int64 `json:"unreadable"` // messages left to the redrive policy, each delivery
	// LastUnreadable is why the last of them could not be read.
	LastUnreadable string `json:"lastUnreadable,omitempty"`
	RawKeys        int64  `json:"rawKeys"` // objects whose key could not be decoded
	Batches        int64  `json:"batches"` // written to the table
	Errors         int64  `json:"errors"`  // failed calls, repeated since
	LastError      string `json:"lastError,omitempty"`
	// Trouble is why calls fail again and again.
	Trouble errortype.Trouble `json:"trouble,omitzero"`
	// LastMessageAt is when the last message was dealt with.
	LastMessageAt time.Time `json:"lastMessageAt,omitzero"`
	Opened        bool      `json:"opened,omitempty"` // queue and table were reached once
	// Arrivals is when the news came, for people.
	Arrivals quiescence.Arrivals `json:"arrivals,omitzero"`
	Reports  quiescence.Reports  `json:"reports"`
	// Spacing is of the heartbeats since the last report; 0: things happen.
	Spacing duration.Duration `json:"spacing,omitempty"`
}

// CountReport is what Count returns: figures in between, or Drained.
type CountReport struct {
	Figures CountFigures `json:"figures"`
	Drained bool         `json:"drained"`
	At      time.Time    `json:"at"`
}

// CountHolder is the input of the updates join and leave of CountObjects: an
// ingestion that needs the counter, as "<workflow ID>/<first run ID>".
type CountHolder struct {
	Holder string `json:"holder" doc:"required"`
}

// CountHolders is their answer: who needs the counter then.
type CountHolders struct {
	Holders []string `json:"holders"`
}

// MemoStartedBy is the memo field of a counter that an ingestion started. Only such
// a one ends with the last that leaves it.
const MemoStartedBy = "startedBy"

package quiescence

import (
	"fmt"
	"time"

	"sluice/internal/duration"
	"sluice/internal/errortype"
)

// A Reading is what one successful and complete poll found.
type Reading struct {
	// Version is the identity of all that is there: two readings with the same
	// version saw the same things. It need not tell anything else.
	Version string `json:"version"`
	// Count is the number of records, objects or messages.
	Count int64 `json:"count"`
	// Present is false as long as there is nothing to be quiet: no item, no
	// object, no message.
	Present bool `json:"present"`
	// Gauge marks a count that falls back to 0, a backlog. It is quiet at 0 only,
	// and what it must have been above is 0 as well.
	Gauge bool `json:"gauge,omitempty"`
	// Slowest is how long the slowest call of the poll took to be answered.
	Slowest time.Duration `json:"-"`
	// Cursor is whatever the source wants to find in the State when it goes on.
	Cursor string `json:"cursor,omitempty"`
}

// State is what a watch has seen so far. Its zero value is a watch that begins.
type State struct {
	Started     bool   `json:"started"` // something was present at least once
	Version     string `json:"version"`
	Count       int64  `json:"count"`
	Gauge       bool   `json:"gauge,omitempty"`
	Cursor      string `json:"cursor,omitempty"`
	Repeats     int    `json:"repeats"`
	Polls       int64  `json:"polls"` // successful ones
	FailedPolls int64  `json:"failedPolls"`
	InARow      int    `json:"failedInARow,omitempty"`
	LastError   string `json:"lastError,omitempty"`
	// LastErrorType is the type of LastError, where the source can tell it.
	LastErrorType string    `json:"lastErrorType,omitempty"`
	FirstAt       time.Time `json:"firstAt,omitzero"`
	// LastChangeAt is when the last change was seen: the end of the poll that saw
	// it, since what that poll read first may have changed while it went on.
	LastChangeAt time.Time `json:"lastChangeAt,omitzero"`
	LastPollAt   time.Time `json:"lastPollAt,omitzero"` // end of the last poll, failed ones too
	NextPollAt   time.Time `json:"nextPollAt,omitzero"`

	// Credit is the quiet time that counts so far, up to Mark; the clock runs on
	// from Mark unless it is zero. See quiet.go.
	Credit time.Duration `json:"credit,omitempty"`
	Mark   time.Time     `json:"mark,omitzero"`

	// Generation counts the times that data came, from 1. Idle says that the
	// generation fell quiet and nothing came since.
	Generation int  `json:"generation"`
	Idle       bool `json:"idle,omitempty"`

	Arrivals Arrivals `json:"arrivals"`
	Reports  Reports  `json:"reports"`

	// Spacing is of the heartbeats since the last report; 0: things happen.
	Spacing duration.Duration `json:"spacing,omitempty"`
}

// Observe takes in the reading of a poll that went from began to ended and says
// when the next one is due. A change is any difference of version, never of the
// number; a gauge above 0 counts as one too. A poll that hung and shows no change says
// nothing: it is taken in as one that failed, and Observe returns false.
func (s *State) Observe(rule Rule, reading Reading, began, ended time.Time) (counts bool) {
	first := s.Polls == 0
	changed := first || reading.Version != s.Version || (reading.Gauge && reading.Count > 0)
	if !changed && reading.Slowest > Hanging {
		s.Fail(rule, fmt.Sprintf("hung for %s and showed no change, which does not count", reading.Slowest.Round(time.Second)), began, ended)
		return false
	}
	s.Polls++
	s.InARow, s.LastError, s.LastErrorType = 0, "", ""
	s.LastPollAt = ended
	if changed {
		s.change(reading, first, ended)
	} else {
		s.Repeats++
		s.credit(began)
		if ended.Sub(began) > Hanging {
			s.Mark = ended
		}
	}
	s.Version, s.Count, s.Gauge, s.Cursor = reading.Version, reading.Count, reading.Gauge, reading.Cursor
	s.schedule(rule)
	return true
}

// change restarts the count of repeats and the clock.
func (s *State) change(reading Reading, first bool, at time.Time) {
	s.Repeats = 0
	s.Credit, s.Mark = 0, at
	if s.Generation == 0 {
		s.Generation = 1
	}
	// A first look at nothing is where a watch begins, not something that came.
	if !reading.Present && !s.Started && first {
		return
	}
	if s.Idle {
		s.Idle = false
		s.Generation++
	}
	if !s.Started {
		s.Started, s.FirstAt = true, at
	}
	s.LastChangeAt = at
	s.Arrivals.Add(at, max(reading.Count-s.Count, 1))
}

// Fail takes in a poll that failed, was throttled or came back in part: it
// leaves the repeats as they are and stops the clock until the next success.
func (s *State) Fail(rule Rule, message string, began, ended time.Time) {
	s.FailedPolls++
	s.InARow++
	s.LastError = message
	s.credit(began)
	s.Mark = time.Time{}
	s.LastPollAt = ended
	s.schedule(rule)
}

// Trouble is why polls fail: twice in a row, since the next poll mends most failures.
func (s *State) Trouble() errortype.Trouble {
	if s.InARow < 2 {
		return errortype.Trouble{}
	}
	return errortype.Trouble{Type: s.LastErrorType, Error: s.LastError}.Typed()
}

// Settle marks the generation as over; what comes from now on is a new one.
func (s *State) Settle() { s.Idle = true }

// Retime says anew when the next poll is due, after the rule was changed.
func (s *State) Retime(rule Rule) {
	if !s.LastPollAt.IsZero() {
		s.schedule(rule)
	}
}

package duration

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Deadline is an instant, given either as such (RFC 3339) or as a length of
// time from a start that the reader of the document knows. The zero value means
// no deadline.
type Deadline struct {
	instant time.Time
	after   Duration
}

// DeadlineAt is the deadline at an instant.
func DeadlineAt(t time.Time) Deadline { return Deadline{instant: t.UTC()} }

// DeadlineAfter is the deadline d after the start.
func DeadlineAfter(d Duration) Deadline { return Deadline{after: d} }

// IsZero reports that there is no deadline.
func (d Deadline) IsZero() bool { return d.instant.IsZero() && d.after == 0 }

// Time returns the instant for a run that started at start, and the zero time
// when there is no deadline.
func (d Deadline) Time(start time.Time) time.Time {
	switch {
	case !d.instant.IsZero():
		return d.instant
	case d.after > 0:
		return start.Add(d.after.Std()).UTC()
	default:
		return time.Time{}
	}
}

// MarshalJSON writes the form that was read: an instant, a length, or "".
func (d Deadline) MarshalJSON() ([]byte, error) {
	switch {
	case !d.instant.IsZero():
		return json.Marshal(d.instant.UTC().Format(time.RFC3339Nano))
	case d.after > 0:
		return d.after.MarshalJSON()
	default:
		return []byte(`""`), nil
	}
}

// UnmarshalJSON reads an instant or a length. "" and null mean none.
func (d *Deadline) UnmarshalJSON(raw []byte) error {
	text, err := textOf(raw, "a deadline")
	if err != nil {
		return err
	}
	return d.UnmarshalText([]byte(text))
}

// UnmarshalText reads an instant or a length.
func (d *Deadline) UnmarshalText(text []byte) error {
	s := strings.TrimSpace(string(text))
	if s == "" {
		*d = Deadline{}
		return nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		*d = DeadlineAt(t)
		return nil
	}
	var after Duration
	if err := after.UnmarshalText([]byte(s)); err != nil {
		if strings.ContainsAny(s, "-T:") {
			return fmt.Errorf("%q is neither an instant like \"2026-01-02T15:04:05Z\" nor a duration like \"2h\"", s)
		}
		return err
	}
	*d = DeadlineAfter(after)
	return nil
}

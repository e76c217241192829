package s3event

import (
	"errors"
	"time"
)

// Kind is what an event says about an object.
type Kind string

// Kinds of events that matter for what is live.
const (
	Created Kind = "created" // Put, Post, Copy, CompleteMultipartUpload
	Removed Kind = "removed" // the object, or the version named, is gone
	Marker  Kind = "marker"  // a delete marker hides the object
)

// Event is one thing that happened to one object.
type Event struct {
	Kind   Kind
	Bucket string
	Key    string // decoded
	// RawKey says that the key could not be decoded and is kept as it came.
	RawKey  bool
	Version string // the version ID, "" without versioning
	ETag    string
	Size    int64
	Stamp   Stamp
}

// longestField is above all that S3 makes: a version ID has up to 1,024 bytes, and
// the others far less. What is longer would not fit into an item.
const longestField = 1024

func (e Event) checkSize() error {
	if len(e.Version) > longestField || len(e.ETag) > longestField || len(e.Stamp.Sequencer) > longestField ||
		len(e.Bucket) > longestField {
		return errors.New("a bucket, version, ETag or sequencer of over 1,024 bytes")
	}
	return nil
}

// Stamp orders the events of one object. Those of different objects are not
// comparable.
type Stamp struct {
	Sequencer string    // as it came; "" where the event has none
	At        time.Time // the event's own time, for events without a sequencer
}

// Compare is negative when s is older than other, positive when it is newer and 0
// when it can't be told or is the same event. Sequencers are hexadecimal text of
// varying length: the shorter one is padded on the right with zeros and both are
// compared as text, never as numbers.
func (s Stamp) Compare(other Stamp) int {
	if s.Sequencer != "" && other.Sequencer != "" {
		return CompareSequencers(s.Sequencer, other.Sequencer)
	}
	if s.At.IsZero() || other.At.IsZero() {
		return 0
	}
	return s.At.Compare(other.At)
}

// CompareSequencers compares two sequencers of one object. Notifications write
// them in upper case and EventBridge in lower case.
func CompareSequencers(a, b string) int {
	for i := range max(len(a), len(b)) {
		if x, y := digit(a, i), digit(b, i); x != y {
			if x < y {
				return -1
			}
			return 1
		}
	}
	return 0
}

func digit(s string, i int) byte {
	if i >= len(s) {
		return '0'
	}
	if c := s[i]; c >= 'a' && c <= 'z' {
		return c - 'a' + 'A'
	}
	return s[i]
}

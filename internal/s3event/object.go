package s3event

import (
	"sort"
	"time"
)

// mostVersions bounds what the ledger keeps of one object: the newest versions,
// and what is known of those that were removed.
const mostVersions = 50

// Object is what the ledger knows of one object. Its zero value is an object of
// which nothing was heard.
type Object struct {
	// Whole is the newest event about the object as such, which is every event
	// where the bucket has no versions.
	Whole Mark `json:"w,omitzero"`
	// Versions holds the newest event of each version, sorted by ID.
	Versions []VersionMark `json:"v,omitempty"`
}

// Mark is the newest event of something.
type Mark struct {
	Kind      Kind      `json:"k,omitempty"`
	Sequencer string    `json:"s,omitempty"`
	At        time.Time `json:"t,omitzero"`
	ETag      string    `json:"e,omitempty"`
}

// VersionMark is the mark of a version.
type VersionMark struct {
	ID string `json:"i"`
	Mark
}

func markOf(e Event) Mark {
	return Mark{Kind: e.Kind, Sequencer: e.Stamp.Sequencer, At: e.Stamp.At, ETag: e.ETag}
}

func (m Mark) stamp() Stamp { return Stamp{Sequencer: m.Sequencer, At: m.At} }

// overruledBy reports whether an event is news beside a mark: it is newer, or
// its order can't be told and it says something else, in which case the one that
// arrived later is believed.
func (m Mark) overruledBy(next Mark) bool {
	if m.Kind == "" {
		return true
	}
	switch order := next.stamp().Compare(m.stamp()); {
	case order != 0:
		return order > 0
	case m.Sequencer != "" && next.Sequencer != "":
		return false // the same event
	default:
		return m.Kind != next.Kind || m.ETag != next.ETag
	}
}

// Apply takes in an event and returns what is known afterwards, and whether it
// was news. An event that was seen before, or is older than what is known, is not.
func (o Object) Apply(e Event) (Object, bool) {
	next := markOf(e)
	if e.Version == "" {
		if !o.Whole.overruledBy(next) {
			return o, false
		}
		o.Whole = next
		return o, true
	}
	i := sort.Search(len(o.Versions), func(i int) bool { return o.Versions[i].ID >= e.Version })
	known := i < len(o.Versions) && o.Versions[i].ID == e.Version
	switch {
	case known && (o.Versions[i].Kind == Removed || !o.Versions[i].overruledBy(next)):
		// A version ID is never used again: once it was removed, all other news
		// of it is old news.
		return o, false
	case known:
		o.Versions = append([]VersionMark(nil), o.Versions...)
		o.Versions[i].Mark = next
	default:
		versions := make([]VersionMark, 0, len(o.Versions)+1)
		versions = append(versions, o.Versions[:i]...)
		versions = append(versions, VersionMark{ID: e.Version, Mark: next})
		o.Versions = append(versions, o.Versions[i:]...)
		o.trim()
	}
	return o, true
}

// trim drops the oldest version where there are too many. The receiver owns its
// versions.
func (o *Object) trim() {
	if len(o.Versions) <= mostVersions {
		return
	}
	oldest := 0
	for i := range o.Versions {
		if o.Versions[i].stamp().Compare(o.Versions[oldest].stamp()) < 0 {
			oldest = i
		}
	}
	o.Versions = append(o.Versions[:oldest], o.Versions[oldest+1:]...)
}

// Live reports whether the object can be read: the newest of what was not removed
// is no delete marker. Removing the current version brings back the one before,
// and removing a delete marker what it hid, as it does in S3.
func (o Object) Live() bool {
	top := o.Whole
	for _, v := range o.Versions {
		if v.Kind == Removed {
			continue
		}
		if top.Kind == "" || v.stamp().Compare(top.stamp()) > 0 {
			top = v.Mark
		}
	}
	return top.Kind == Created
}

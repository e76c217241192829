package s3event

import (
	"sort"
	"time"
)

// mostVersions bounds what the ledger keeps of one object: the newest versions,
// and the newest of those that were removed, at least half as many of each where
// there are so many. What was forgotten counts as not there, which matters only
// when every newer version has been removed.
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
		whole := o
		o.Versions = append(versions, o.Versions[i:]...)
		if o.trim() == e.Version {
			return whole, false // older than all that is remembered, or forgotten already
		}
	}
	return o, true
}

// trim forgets a version where there are too many, and returns its ID: the oldest
// of the removed ones or of the others, whichever are more. So neither can crowd
// out the other: a bucket whose old versions are removed as they age keeps the
// current one. The receiver owns its versions.
func (o *Object) trim() (forgotten string) {
	if len(o.Versions) <= mostVersions {
		return ""
	}
	removed := 0
	for _, v := range o.Versions {
		if v.Kind == Removed {
			removed++
		}
	}
	oldest := -1
	for i, v := range o.Versions {
		if (v.Kind == Removed) != (removed > mostVersions/2) {
			continue
		}
		if oldest < 0 || v.stamp().Compare(o.Versions[oldest].stamp()) < 0 {
			oldest = i
		}
	}
	forgotten = o.Versions[oldest].ID
	o.Versions = append(o.Versions[:oldest], o.Versions[oldest+1:]...)
	return forgotten
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

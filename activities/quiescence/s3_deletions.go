package quiescence

import (
	"sluice/activities"
	"sluice/internal/quiescence"
	"sluice/internal/wire"
)

// deletions tells deleted objects from new ones for onDelete "ignore" and "fail".
// It remembers the last listing in memory. When another worker, or another run of
// the activity, goes on, it has the digest and the number of the objects alone:
// the same digest is the same listing, fewer objects are a deletion, and any other
// difference counts as a change.
type deletions struct {
	carried quiescence.State
	last    *inventory
	version string // of the last listing, as told to the watch
}

// judge makes a reading of a listing.
func (d *deletions) judge(source wire.S3Source, seen *inventory) (quiescence.Reading, error) {
	if source.OnDelete == wire.OnDeleteReset {
		return seen.reading(seen.digest()), nil
	}
	if d.last == nil {
		return d.first(source, seen)
	}
	last := d.last
	d.last = seen
	if source.OnDelete == wire.OnDeleteFail && !contains(seen.keys, last.keys) {
		return quiescence.Reading{}, gone(source)
	}
	if !contains(last.objects, seen.objects) {
		d.version = seen.digest() // something is new or was overwritten
	}
	return seen.reading(d.version), nil
}

// first judges the first listing of this run.
func (d *deletions) first(source wire.S3Source, seen *inventory) (quiescence.Reading, error) {
	d.last = seen
	switch goesOn := d.carried.Polls > 0; {
	case goesOn && seen.digest() == d.carried.Cursor:
		d.version = d.carried.Version
	case goesOn && source.OnDelete == wire.OnDeleteFail && seen.count < d.carried.Count:
		return quiescence.Reading{}, gone(source)
	default:
		d.version = seen.digest()
	}
	return seen.reading(d.version), nil
}

func gone(source wire.S3Source) error {
	return endWatch{activities.Fail(activities.TypeConflict, activities.Failure{
		ErrorDetails: activities.ErrorDetails{Operation: wire.WatchQuiescence.Name, Target: source.Bucket},
		Message:      "objects that were there are gone",
	})}
}

// contains reports whether all of part are in whole.
func contains(whole, part map[uint64]struct{}) bool {
	for h := range part {
		if _, ok := whole[h]; !ok {
			return false
		}
	}
	return true
}

package shell

import "time"

// TimeOrNil is t as a document has it: null where there is none.
func TimeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// Soonest is the earliest of instants, of which zero ones do not count.
func Soonest(instants ...time.Time) time.Time {
	var first time.Time
	for _, t := range instants {
		if !t.IsZero() && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first
}

// Earlier is the earlier of two instants, of which zero is none.
func Earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

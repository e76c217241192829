// Package ingestion compares the records that went into a stream with those that
// came out, by record id. It owns the form of the ids and the arithmetic; who
// reads the objects hands it what they hold.
package ingestion

import (
	"math/bits"
	"strconv"
	"strings"
)

// ID is the id of record n, counted from 0, of an object in a run:
// "<run>/<bucket>/<key>#<n>".
func ID(run, object string, n int64) string {
	return run + "/" + object + "#" + strconv.FormatInt(n, 10)
}

// Split takes an id of the run apart; object is "<bucket>/<key>". Ids of other
// runs, and text that is no id, are not ok.
func Split(run, id string) (object string, n int64, ok bool) {
	rest, ok := strings.CutPrefix(id, run+"/")
	at := strings.LastIndexByte(rest, '#')
	if !ok || at < 0 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(rest[at+1:], 10, 64)
	return rest[:at], n, err == nil && n >= 0
}

// Tally counts the deliveries of one object's records: a bit a record, so that
// 100 million records take 12 MiB.
type Tally struct {
	Unexpected int64 // deliveries with a number that the object does not have
	counted    int64 // records that the object has, or that could be counted
	deliveries int64
	seen       []uint64
	// beyond are the records above counted that were delivered of an object whose
	// end nobody could read; nil where all of it was counted.
	beyond map[int64]struct{}
}

// NewTally expects the records 0 to expected−1.
func NewTally(expected int64) *Tally {
	return &Tally{counted: expected, seen: make([]uint64, (expected+63)/64)}
}

// NewOpenTally expects the records 0 to counted−1, whatever else is delivered, and
// one more, which stands for all that could not be counted and never comes.
func NewOpenTally(counted int64) *Tally {
	t := NewTally(counted)
	t.beyond = map[int64]struct{}{}
	return t
}

// Deliver records a delivery of record n.
func (t *Tally) Deliver(n int64) {
	switch {
	case n >= 0 && n < t.counted:
		t.seen[n/64] |= 1 << (n % 64)
	case n >= t.counted && t.beyond != nil:
		t.beyond[n] = struct{}{}
	default:
		t.Unexpected++
		return
	}
	t.deliveries++
}

// Expected is the number of records that the object has.
func (t *Tally) Expected() int64 {
	if t.beyond == nil {
		return t.counted
	}
	return t.counted + int64(len(t.beyond)) + 1
}

// Delivered is the number of distinct records that were delivered.
func (t *Tally) Delivered() int64 {
	n := len(t.beyond)
	for _, word := range t.seen {
		n += bits.OnesCount64(word)
	}
	return int64(n)
}

// Missing is the number of records that were not.
func (t *Tally) Missing() int64 { return t.Expected() - t.Delivered() }

// Duplicated is the number of deliveries beyond the first of a record.
func (t *Tally) Duplicated() int64 { return t.deliveries - t.Delivered() }

// FirstMissing lists the numbers of up to most missing records among those that
// could be counted.
func (t *Tally) FirstMissing(most int) []int64 {
	var missing []int64
	for n := int64(0); n < t.counted && len(missing) < most; n++ {
		if t.seen[n/64]&(1<<(n%64)) == 0 {
			missing = append(missing, n)
		}
	}
	return missing
}

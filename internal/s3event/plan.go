package s3event

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
	"strings"
	"time"
)

// Counting tells which counter an object belongs to.
type Counting struct {
	// PrefixDepth is how many elements of the key, separated by slashes and not
	// counting its last one, belong to the counter's ID. 0: a counter a bucket.
	PrefixDepth int
}

// Counter is the ID of the counter item of an object: "<bucket>[/<prefix>]". An
// object that is not as deep counts where it is.
func (c Counting) Counter(bucket, key string) string {
	id, rest := bucket, key
	for range c.PrefixDepth {
		element, below, ok := strings.Cut(rest, "/")
		if !ok {
			break
		}
		id, rest = id+"/"+element, below
	}
	return fit(id)
}

// LedgerID is the ID of the ledger item of an object. Bucket names can't begin
// with "#", so counters and ledger never meet.
func LedgerID(bucket, key string) string { return fit("#" + bucket + "/" + key) }

// fit keeps an ID within DynamoDB's 2,048 bytes for a key. Only keys that could
// not be decoded are as long.
func fit(id string) string {
	const longest = 2048
	if len(id) <= longest {
		return id
	}
	digest := sha256.Sum256([]byte(id))
	return strings.ToValidUTF8(id[:longest-2*len(digest)-1], "") + "#" + hex.EncodeToString(digest[:])
}

// Change is what a batch makes of one object.
type Change struct {
	ID      string `json:"id"` // LedgerID
	Counter string `json:"c"`
	Object  Object `json:"o"`
	Delta   int64  `json:"d"` // of the counter: 1, 0 or -1
	// RawKey says that the key could not be decoded.
	RawKey bool `json:"r,omitempty"`
}

// Total is what a batch makes of one counter.
type Total struct {
	ID         string    `json:"id"`
	Records    int64     `json:"n"` // the number of live objects afterwards
	LastChange time.Time `json:"t"`
}

// Batch is what a number of events comes to: written down first, so that whoever
// finds it half done can finish it.
type Batch struct {
	Changes []Change `json:"changes"`
	Totals  []Total  `json:"totals"`
}

// Empty reports that the events were no news.
func (b Batch) Empty() bool { return len(b.Changes) == 0 }

// Objects lists the ledger IDs that events touch, sorted, each once.
func Objects(events []Event) []string {
	ids := make([]string, 0, len(events))
	for _, e := range events {
		ids = append(ids, LedgerID(e.Bucket, e.Key))
	}
	return unique(ids)
}

// Counters lists the counters that events may touch, sorted, each once.
func (c Counting) Counters(events []Event) []string {
	ids := make([]string, 0, len(events))
	for _, e := range events {
		ids = append(ids, c.Counter(e.Bucket, e.Key))
	}
	return unique(ids)
}

func unique(ids []string) []string {
	sort.Strings(ids)
	kept := ids[:0]
	for i, id := range ids {
		if i == 0 || id != ids[i-1] {
			kept = append(kept, id)
		}
	}
	return kept
}

// Plan works out what events make of the objects and counters as they stand. A
// batch holds what differs in the end: an object that was announced many times is
// one change, and events that are no news leave nothing behind. Lists are sorted.
func (c Counting) Plan(events []Event, objects map[string]Object, totals map[string]int64, now time.Time) Batch {
	changed := map[string]*Change{}
	for _, e := range events {
		id := LedgerID(e.Bucket, e.Key)
		before, seen := objects[id], changed[id]
		if seen != nil {
			before = seen.Object
		}
		after, news := before.Apply(e)
		if !news {
			continue
		}
		if seen == nil {
			seen = &Change{ID: id, Counter: c.Counter(e.Bucket, e.Key)}
			changed[id] = seen
		}
		seen.Object, seen.RawKey = after, e.RawKey
		seen.Delta += live(after) - live(before)
	}
	var b Batch
	deltas := map[string]int64{}
	for _, change := range changed {
		b.Changes = append(b.Changes, *change)
		deltas[change.Counter] += change.Delta
	}
	for id, delta := range deltas {
		b.Totals = append(b.Totals, Total{ID: id, Records: totals[id] + delta, LastChange: now})
	}
	sort.Slice(b.Changes, func(i, j int) bool { return b.Changes[i].ID < b.Changes[j].ID })
	sort.Slice(b.Totals, func(i, j int) bool { return b.Totals[i].ID < b.Totals[j].ID })
	return b
}

func live(o Object) int64 {
	if o.Live() {
		return 1
	}
	return 0
}

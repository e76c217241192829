package s3event

import (
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func formEncode(s string) string { return url.QueryEscape(s) }

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// table is a ledger with counters, as Plan's caller keeps them.
type table struct {
	counting Counting
	objects  map[string]Object
	totals   map[string]int64
	changed  int
}

func newTable(c Counting) *table {
	return &table{counting: c, objects: map[string]Object{}, totals: map[string]int64{}}
}

func (tb *table) take(events ...Event) Batch {
	b := tb.counting.Plan(events, tb.objects, tb.totals, noon)
	for _, c := range b.Changes {
		tb.objects[c.ID] = c.Object
	}
	for _, total := range b.Totals {
		tb.totals[total.ID] = total.Records
	}
	if !b.Empty() {
		tb.changed++
	}
	return b
}

func event(kind Kind, key, sequencer string) Event {
	return Event{Kind: kind, Bucket: "b", Key: key, Stamp: Stamp{Sequencer: sequencer}}
}

func version(e Event, id string) Event {
	e.Version = id
	return e
}

func TestCaseQ06OlderEventArrivesLast(t *testing.T) {
	tb := newTable(Counting{})
	tb.take(event(Removed, "k", "0061A"))
	tb.take(event(Created, "k", "00619FFF"))
	require.Zero(t, tb.totals["b"], "as numbers it would be the other way round")

	require.Equal(t, 1, CompareSequencers("0061A", "00619FFF"))
	require.Zero(t, CompareSequencers("0061A", "0061A000"), "equal after padding: the same event")
	require.Zero(t, CompareSequencers("0055AED6DCD90281E5", "0055aed6dcd90281e5"))
	require.False(t, event(Created, "k", "0061A").Stamp.Compare(event(Created, "k", "0061A0").Stamp) != 0)
}

func TestSequencersCompareAsPaddedNumbers(t *testing.T) {
	hex := rapid.StringMatching(`[0-9A-F]{1,24}`)
	rapid.Check(t, func(t *rapid.T) {
		a, b := hex.Draw(t, "a"), hex.Draw(t, "b")
		width := max(len(a), len(b))
		number := func(s string) *big.Int {
			n, ok := new(big.Int).SetString(s+strings.Repeat("0", width-len(s)), 16)
			require.True(t, ok)
			return n
		}
		require.Equal(t, number(a).Cmp(number(b)), CompareSequencers(a, b))
		require.Equal(t, -CompareSequencers(b, a), CompareSequencers(a, b))
	})
}

func TestCaseQ04SameEventDeliveredSeveralTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tb := newTable(Counting{})
		var deliveries []Event
		for i := range 10 {
			e := event(Created, fmt.Sprintf("k%d", i), fmt.Sprintf("%04X", i))
			deliveries = append(deliveries, e, e, e)
		}
		for _, e := range rapid.Permutation(deliveries).Draw(t, "order") {
			tb.take(e)
		}
		require.EqualValues(t, 10, tb.totals["b"])
		require.Equal(t, 10, tb.changed, "a repeat leaves nothing behind, so that it restarts no quiet time")
	})
}

func TestOverwriteAndDelete(t *testing.T) {
	tb := newTable(Counting{})
	tb.take(event(Created, "k", "01"))
	b := tb.take(event(Created, "k", "02"))
	require.EqualValues(t, 1, tb.totals["b"])
	require.Equal(t, []Total{{ID: "b", Records: 1, LastChange: noon}}, b.Totals, "a new version moves last_change")
	tb.take(event(Removed, "k", "03"))
	require.Zero(t, tb.totals["b"])
	require.True(t, tb.take(event(Removed, "k", "03")).Empty())
	require.True(t, tb.take(event(Created, "k", "02")).Empty())
	tb.take(event(Created, "k", "04"))
	require.EqualValues(t, 1, tb.totals["b"])
}

func TestVersions(t *testing.T) {
	put1, put2 := version(event(Created, "k", "01"), "v1"), version(event(Created, "k", "02"), "v2")
	for _, c := range []struct {
		what   string
		events []Event
		want   int64
	}{
		{"two versions are one object", []Event{put1, put2}, 1},
		{"removing the old one leaves it", []Event{put1, put2, version(event(Removed, "k", "03"), "v1")}, 1},
		{"removing the new one brings back the old", []Event{put1, put2, version(event(Removed, "k", "03"), "v2")}, 1},
		{"removing both", []Event{put1, put2, version(event(Removed, "k", "03"), "v2"), version(event(Removed, "k", "04"), "v1")}, 0},
		{"a marker hides it", []Event{put1, version(event(Marker, "k", "03"), "m")}, 0},
		{"removing the marker shows it again", []Event{put1, version(event(Marker, "k", "03"), "m"), version(event(Removed, "k", "04"), "m")}, 1},
		{"a put after a marker", []Event{put1, version(event(Marker, "k", "02"), "m"), version(event(Created, "k", "03"), "v3")}, 1},
		{"a delete without a version", []Event{put1, event(Removed, "k", "03")}, 0},
	} {
		for range 20 {
			tb := newTable(Counting{})
			order := append([]Event(nil), c.events...)
			rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, e := range append(order, order[0]) {
				tb.take(e)
			}
			require.Equal(t, c.want, tb.totals["b"], c.what)
		}
	}
}

func TestVersionsAreBounded(t *testing.T) {
	tb := newTable(Counting{})
	for i := range 500 {
		tb.take(version(event(Created, "k", fmt.Sprintf("%04X", i)), fmt.Sprintf("version-%d", i)))
	}
	require.EqualValues(t, 1, tb.totals["b"])
	require.Len(t, tb.objects[LedgerID("b", "k")].Versions, mostVersions)
	require.Less(t, len(mustJSON(t, tb.objects[LedgerID("b", "k")])), 16<<10)
}

// Beyond what is remembered of an object: repeats of forgotten versions are no
// news, old versions that are removed as they age never take the current one
// along, and an object comes back as long as one of its 25 newest is there. What
// is below is forgotten: then it counts as gone until something new is heard.
func TestMoreVersionsThanAreRemembered(t *testing.T) {
	seq := func(i int) string { return fmt.Sprintf("%06X", i) }
	put := func(i int) Event { return version(event(Created, "k", seq(i)), fmt.Sprintf("v%d", i)) }
	remove := func(i, at int) Event { return version(event(Removed, "k", seq(at)), fmt.Sprintf("v%d", i)) }

	tb := newTable(Counting{})
	for i := range 80 {
		tb.take(put(i))
	}
	for i := range 29 { // each had been announced and is forgotten
		require.True(t, tb.take(put(i)).Empty(), "a repeat of version %d", i)
	}
	require.EqualValues(t, 1, tb.totals["b"])
	for i := range 79 { // a life-cycle rule removes all but the current one
		tb.take(remove(i, 100+i))
		require.EqualValues(t, 1, tb.totals["b"], "after the removal of version %d", i)
	}
	tb.take(remove(79, 300))
	require.Zero(t, tb.totals["b"])

	tb = newTable(Counting{})
	for i := range 80 {
		tb.take(put(i))
	}
	gone := 0
	for i := 79; i >= 0 && tb.totals["b"] == 1; i-- { // the current one is removed, again and again
		tb.take(remove(i, 200-i))
		gone++
	}
	require.GreaterOrEqual(t, gone, mostVersions/2, "it comes back as often as versions are remembered")
	tb.take(put(81))
	require.EqualValues(t, 1, tb.totals["b"], "the next version counts again")
}

// Emulators and some stores send no sequencer: the event's time orders then, and
// of two in the same second the one that arrives later is believed.
func TestWithoutSequencers(t *testing.T) {
	at := func(kind Kind, etag string, seconds int) Event {
		return Event{Kind: kind, Bucket: "b", Key: "k", ETag: etag, Stamp: Stamp{At: noon.Add(time.Duration(seconds) * time.Second)}}
	}
	tb := newTable(Counting{})
	tb.take(at(Created, "x", 0), at(Created, "x", 0))
	require.True(t, tb.take(at(Created, "x", 0)).Empty())
	require.False(t, tb.take(at(Created, "y", 0)).Empty())
	tb.take(at(Removed, "", 5))
	tb.take(at(Created, "x", 4))
	require.Zero(t, tb.totals["b"])
	tb.take(at(Created, "z", 5))
	require.EqualValues(t, 1, tb.totals["b"])
}

func TestCounterIDs(t *testing.T) {
	for _, c := range []struct {
		depth     int
		key, want string
	}{
		{0, "a/b/c.txt", "b"}, {1, "a/b/c.txt", "b/a"}, {2, "a/b/c.txt", "b/a/b"}, {3, "a/b/c.txt", "b/a/b"},
		{1, "root.txt", "b"}, {1, "dir/", "b/dir"}, {1, "/x", "b/"},
	} {
		require.Equal(t, c.want, Counting{PrefixDepth: c.depth}.Counter("b", c.key), "%+v", c)
	}
}

// However a history is cut into batches, reordered and repeated: the count is
// that of the objects whose last event by sequencer made them, in every counter.
func TestCountIsExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		type last struct {
			kind Kind
			n    int
		}
		truth := map[string]last{}
		var events []Event
		for n := range rapid.IntRange(1, 40).Draw(t, "events") {
			key := rapid.SampledFrom([]string{"x/a", "x/b", "y/a", "c"}).Draw(t, "key")
			kind := rapid.SampledFrom([]Kind{Created, Created, Removed}).Draw(t, "kind")
			truth[key] = last{kind, n}
			e := event(kind, key, fmt.Sprintf("%06X", n))
			for range rapid.IntRange(1, 3).Draw(t, "copies") {
				events = append(events, e)
			}
		}
		counting := Counting{PrefixDepth: rapid.IntRange(0, 1).Draw(t, "depth")}
		tb := newTable(counting)
		events = rapid.Permutation(events).Draw(t, "order")
		for len(events) > 0 {
			n := rapid.IntRange(1, len(events)).Draw(t, "batch")
			tb.take(events[:n]...)
			events = events[n:]
		}
		want := map[string]int64{}
		for key, l := range truth {
			if l.kind == Created {
				want[counting.Counter("b", key)]++
			}
		}
		for id, n := range tb.totals {
			require.Equal(t, want[id], n, id)
		}
		for id, n := range want {
			require.Equal(t, n, tb.totals[id], id)
		}
	})
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	require.NoError(t, err)
	return string(raw)
}

package kinesis

import (
	"testing"

	"github.com/stretchr/testify/require"

	"sluice/internal/recordbatch"
	"sluice/internal/recordbatch/recordbatchtest"
)

// copies is how often each record is stored, by its data, aggregated or not, and
// which of them lie on their own key's shard, where their readers look.
func (f *fakeStream) copies() (all, found map[string]int) {
	all, found = map[string]int{}, map[string]int{}
	for _, outer := range f.stored {
		inner := []recordbatchtest.Record{{Data: outer.Data, Key: outer.Key, HashKey: outer.HashKey}}
		if recordbatchtest.IsAggregate(outer.Data) {
			inner = recordbatchtest.Deaggregate(f.t, outer.Data)
		}
		for _, r := range inner {
			all[string(r.Data)]++
			if f.shardOf(&recordbatch.Record{Key: r.Key, HashKey: r.HashKey}) == f.shardOf(&outer) {
				found[string(r.Data)]++
			}
		}
	}
	return all, found
}

// Aggregates that meet a resharding: every record is stored on its key's shard, and
// only those go twice that were not, since their aggregate lies on another.
func TestAggregatesThatMeetAReshardingAreNotStoredTwice(t *testing.T) {
	for name, c := range map[string]struct{ before, after int }{"split": {1, 2}, "merge": {2, 1}, "a stream made anew": {2, 2}} {
		for _, ordering := range []string{"none", "key"} {
			t.Run(name+" "+ordering, func(t *testing.T) {
				const records = 2000
				w := newWorld(t, c.before)
				w.put(numbered(1, 1), "")
				w.stream.stored = nil
				w.stream.reshard(c.after)
				w.fresh()
				out := w.put(numbered(records, 40), `"Aggregate":true,"Ordering":"`+ordering+`"`)
				require.EqualValues(t, records, out.StoredRecordCount)
				all, found := w.stream.copies()
				require.Len(t, all, records)
				twice := 0
				for data, n := range all {
					require.Equal(t, 1, found[data], "%s: copies where its readers look", data)
					require.LessOrEqual(t, n, 2)
					twice += n - 1
				}
				require.EqualValues(t, twice, out.PossiblyDuplicated)
				if name != "split" {
					require.Zero(t, twice)
				}
			})
		}
	}
}

// Where the shards can't be listed, only records of one key go into an aggregate, so
// that each is on its own shard however many there are.
func TestAggregatesOfUnknownShardsHoldOneKey(t *testing.T) {
	w := newWorld(t, 2)
	w.stream.unlisted = true
	out := w.put(numbered(400, 8), `"Aggregate":true`)
	require.EqualValues(t, 400, out.StoredRecordCount)
	all, found := w.stream.copies()
	require.Len(t, all, 400)
	require.Equal(t, all, found)
	require.Len(t, w.stream.stored, 8)
}

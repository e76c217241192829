package recordbatch

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"sluice/internal/recordbatch/recordbatchtest"
)

// sendAll sends all that waits to a service that takes all, and gives each request
// to look before it is answered.
func sendAll(q *Queue, look func(r *Request)) {
	for q.Waiting() > 0 {
		q.Flush()
		r, _ := q.Next(start)
		if r == nil {
			return
		}
		look(r)
		store(q, r, start)
		q.Release(r)
	}
}

// TestAggregateKeepsEveryRecord: what was joined comes apart again, complete, in
// order by shard, within the size, and all of one shard.
func TestAggregateKeepsEveryRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := named(rapid.IntRange(1, 4).Draw(t, "shards"))
		call := &Call{Keyed: rapid.Bool().Draw(t, "keyed"), Aggregate: true, MaxAttempts: 10}
		given := items(call, rapid.IntRange(1, 60).Draw(t, "records"), 0)
		for i := range given {
			given[i].Data = bytes.Repeat([]byte{byte(i)}, rapid.IntRange(0, 3000).Draw(t, "size"))
			given[i].Key = fmt.Sprintf("k%d", rapid.IntRange(0, 9).Draw(t, "key"))
			if rapid.Bool().Draw(t, "explicit") {
				given[i].HashKey = "170141183460469231731687303715884105728"
			}
		}
		q := NewQueue(testSettings(), shards, start)
		q.Push(given, start)
		seen := map[int64]bool{}
		last := map[int]int64{}
		sendAll(q, func(r *Request) {
			var encoder Encoder
			r.each(func(_, from, to int) {
				parts := r.Items[from:to]
				if data := encoder.data(parts); len(parts) > 1 {
					require.LessOrEqual(t, len(data), AggregateBytes)
					for i, record := range recordbatchtest.Deaggregate(t, data) {
						require.Equal(t, recordbatchtest.Record{Data: parts[i].Data, Key: parts[i].Key, HashKey: parts[i].HashKey}, record)
					}
				}
				shard := shards.Find(HashOf(parts[0].Record))
				for _, p := range parts {
					require.Equal(t, shard, shards.Find(HashOf(p.Record)))
					require.Equal(t, given[p.Index].Record, p.Record)
					require.False(t, seen[p.Index])
					seen[p.Index] = true
					if before, ok := last[shard]; ok {
						require.Less(t, before, p.Index)
					}
					last[shard] = p.Index
				}
			})
		})
		require.Len(t, seen, len(given))
	})
}

// TestReshardingBeforeSendingRepeatsNothing: what waits is aggregated by the map in
// force when it goes.
func TestReshardingBeforeSendingRepeatsNothing(t *testing.T) {
	for _, isKeyed := range []bool{false, true} {
		q := NewQueue(testSettings(), named(1), start)
		call := &Call{Keyed: isKeyed, Aggregate: true, MaxAttempts: 10}
		q.Push(items(call, 50, 10), start)
		m := named(4)
		q.SetShards(m, start)
		seen := map[int64]bool{}
		sendAll(q, func(r *Request) {
			require.Equal(t, 4, r.Records())
			r.each(func(_, from, to int) {
				for i := from; i < to; i++ {
					require.Equal(t, m.Find(HashOf(r.Items[from].Record)), m.Find(HashOf(r.Items[i].Record)))
					require.False(t, seen[r.Items[i].Index])
					seen[r.Items[i].Index] = true
				}
			})
		})
		require.Len(t, seen, 50)
		require.Zero(t, call.Open())
		require.Zero(t, q.Memory())
	}
}

// TestReshardingRepeatsOnlyWhatLiesElsewhere: an aggregate that met a merge is
// stored; of one that met a split, the records of its shard are, and the others go
// again once.
func TestReshardingRepeatsOnlyWhatLiesElsewhere(t *testing.T) {
	for name, c := range map[string]struct{ before, after int }{"split": {1, 2}, "merge": {2, 1}, "a stream made anew": {4, 4}} {
		for _, isKeyed := range []bool{false, true} {
			t.Run(fmt.Sprint(name, " keyed ", isKeyed), func(t *testing.T) {
				q := NewQueue(testSettings(), named(c.before), start)
				call := &Call{Keyed: isKeyed, Aggregate: true, MaxAttempts: 10}
				q.Push(items(call, 50, 10), start)
				q.Flush()
				after := EvenShards(c.after)
				for i := range after {
					after[i].ID = fmt.Sprint("new-", i)
				}
				r, _ := q.Next(start)
				require.Len(t, r.Items, 50)
				misplaced := 0
				r.each(func(_, from, to int) {
					shard := &after[after.Find(HashOf(r.Items[from].Record))]
					r.Verdicts = append(r.Verdicts, Verdict{Kind: Stored, Told: &Told{Shard: shard.ID}})
					for i := from; i < to; i++ {
						if !shard.Takes(HashOf(r.Items[i].Record)) {
							misplaced++
						}
					}
				})
				require.Equal(t, name == "split", misplaced > 0)
				q.Done(r, Outcome{Kind: Answered}, start)
				require.True(t, r.Moved)
				require.Equal(t, 50, q.Waiting())
				if next, _ := q.Next(start); next != nil {
					t.Fatal("it was repeated before it was known where it lies")
				}
				settled := 0
				for _, s := range q.Located(after, start) {
					settled += len(s.Items)
				}
				q.SetShards(after, start)
				require.Equal(t, 50-misplaced, settled)
				again := 0
				sendAll(q, func(r *Request) { again += len(r.Items) })
				require.Equal(t, misplaced, again)
				require.Zero(t, call.Open())
				require.Zero(t, q.Memory())
			})
		}
	}
}

// TestUnknownShardsAggregateByKey: where it is not sure which keys lie on one shard,
// only records of one key are joined.
func TestUnknownShardsAggregateByKey(t *testing.T) {
	q := NewQueue(testSettings(), EvenShards(8), start)
	call := &Call{Aggregate: true, MaxAttempts: 10}
	given := items(call, 60, 10)
	for i := range given {
		given[i].Key = fmt.Sprint("key-", i/20)
	}
	q.Push(given, start)
	records := 0
	sendAll(q, func(r *Request) {
		r.each(func(_, from, to int) {
			require.True(t, oneShard(r.Items[from:to]))
			records++
		})
	})
	require.Equal(t, 3, records)
}

package recordbatch

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protowire"
	"pgregory.net/rapid"
)

// deaggregate reads the Kinesis Producer Library's record format by its
// published description, with a general decoder of protocol buffers.
func deaggregate(t require.TestingT, data []byte) (records []Record) {
	require.True(t, bytes.HasPrefix(data, []byte{0xf3, 0x89, 0x9a, 0xc2}))
	message, sum := data[4:len(data)-16], md5.Sum(data[4:len(data)-16])
	require.Equal(t, sum[:], data[len(data)-16:])
	var keys, hashKeys []string
	eachField(t, message, func(number protowire.Number, _ uint64, value []byte) {
		switch number {
		case 1:
			keys = append(keys, string(value))
		case 2:
			hashKeys = append(hashKeys, string(value))
		case 3:
			var r Record
			eachField(t, value, func(number protowire.Number, n uint64, value []byte) {
				switch number {
				case 1:
					r.Key = keys[n]
				case 2:
					r.HashKey = hashKeys[n]
				case 3:
					r.Data = value
				}
			})
			records = append(records, r)
		}
	})
	return records
}

func eachField(t require.TestingT, message []byte, field func(number protowire.Number, n uint64, value []byte)) {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		require.Positive(t, n)
		message = message[n:]
		if kind == protowire.VarintType {
			v, n := protowire.ConsumeVarint(message)
			require.Positive(t, n)
			field(number, v, nil)
			message = message[n:]
			continue
		}
		v, n := protowire.ConsumeBytes(message)
		require.Positive(t, n)
		field(number, 0, v)
		message = message[n:]
	}
}

// TestAggregateKeepsEveryRecord: what was joined comes apart again, complete, in
// order by shard, within the size, and all of one shard.
func TestAggregateKeepsEveryRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		shards := named(rapid.IntRange(1, 4).Draw(t, "shards"))
		call := &Call{Keyed: rapid.Bool().Draw(t, "keyed")}
		given := items(call, rapid.IntRange(1, 60).Draw(t, "records"), 0)
		for i := range given {
			given[i].Data = bytes.Repeat([]byte{byte(i)}, rapid.IntRange(0, 3000).Draw(t, "size"))
			given[i].Key = fmt.Sprintf("k%d", rapid.IntRange(0, 9).Draw(t, "key"))
			if rapid.Bool().Draw(t, "explicit") {
				given[i].HashKey = "170141183460469231731687303715884105728"
			}
		}
		seen := map[int64]bool{}
		last := map[int]int64{}
		for _, it := range Aggregate(given, shards) {
			require.LessOrEqual(t, len(it.Data), AggregateBytes)
			parts := it.Parts()
			if len(parts) == 0 {
				parts = []Part{{it.Record, it.Index}}
			} else {
				for i, r := range deaggregate(t, it.Data) {
					require.Equal(t, parts[i].Record, r)
				}
			}
			shard := shards.Find(HashOf(&it.Record))
			for _, p := range parts {
				require.Equal(t, shard, shards.Find(HashOf(&p.Record)))
				require.Equal(t, given[p.Index].Record, p.Record)
				require.False(t, seen[p.Index])
				seen[p.Index] = true
				if before, ok := last[shard]; ok {
					require.Less(t, before, p.Index)
				}
				last[shard] = p.Index
			}
		}
		require.Len(t, seen, len(given))
	})
}

// TestReshardingTakesAggregatesApart: what no longer fits one shard goes singly,
// and all of it comes to an end.
func TestReshardingTakesAggregatesApart(t *testing.T) {
	for _, isKeyed := range []bool{false, true} {
		q := NewQueue(testSettings(), named(1), start)
		call := &Call{Keyed: isKeyed, MaxAttempts: 10}
		q.Push(Aggregate(items(call, 50, 10), q.Shards()), start)
		require.Equal(t, 1, q.Waiting())
		q.SetShards(named(4), start)
		q.Flush()
		seen := map[int64]bool{}
		for len(seen) < 50 {
			r, _ := q.Next(start)
			require.NotNil(t, r, "%d seen", len(seen))
			for _, it := range r.Items {
				require.Empty(t, it.Parts())
				seen[it.Index] = true
			}
			store(q, r, start)
		}
		require.Zero(t, call.Open())
		require.Zero(t, q.HeldBytes())
	}
}

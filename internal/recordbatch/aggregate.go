package recordbatch

import (
	"crypto/md5"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
)

// The record format of the Kinesis Producer Library: four bytes of magic, a
// protocol buffer, and its MD5.
const (
	aggregateMagic = "\xf3\x89\x9a\xc2"
	// AggregateBytes is how large an aggregated record becomes, as the
	// library's own default has it.
	AggregateBytes = 51200

	fieldKeyTable     = 1<<3 | 2 // repeated string partition_key_table = 1
	fieldHashKeyTable = 2<<3 | 2 // repeated string explicit_hash_key_table = 2
	fieldRecord       = 3<<3 | 2 // repeated Record records = 3
	fieldKeyIndex     = 1 << 3   // uint64 partition_key_index = 1
	fieldHashKeyIndex = 2 << 3   // uint64 explicit_hash_key_index = 2
	fieldData         = 3<<3 | 2 // bytes data = 3

	// aggregateFrame is what the tags, lengths and indexes of a record take at
	// most, and aggregateEnds the magic and the MD5.
	aggregateFrame = 32
	aggregateEnds  = len(aggregateMagic) + md5.Size

	// aggregateRequestBytes is how large a request of aggregates is made: it holds
	// some thousand records, and a larger one only keeps more of them waiting for
	// the one answer.
	aggregateRequestBytes = 1 << 20
)

func (q *Queue) aggregateBytes() int { return min(q.requestBytes(), aggregateRequestBytes) }

// fillAggregates takes from a row of records that are aggregated. Where order is
// strict, it takes one aggregate: the next one's keys may be the same.
func (q *Queue) fillAggregates(r *Request, at int) bool {
	row, b := &q.rows[at], &q.shards[at/kinds].bucket
	for row.count > 0 {
		n, size := q.nextAggregate(row, b)
		if r.Records() >= q.maxRecords() || r.Bytes > 0 && r.Bytes+size > q.aggregateBytes() {
			return false
		}
		if !b.take(q.set.Shard, size) {
			return true
		}
		r.Items = row.take(r.Items, n, &q.segments)
		r.group(n)
		r.Bytes += size
		if at%kinds == keyedAggregates {
			break
		}
	}
	return r.Records() < q.maxRecords() && r.Bytes < q.aggregateBytes()
}

// nextAggregate says how many of a row's first records go together, and how large
// they are then. As long as it is not sure which records lie on one shard, only
// those of one key do.
func (q *Queue) nextAggregate(row *row, b *bucket) (n, size int) {
	first := row.front()
	sure := q.named && !q.stale
	most := min(AggregateBytes, q.set.RecordBytes-len(first.Key), q.set.RequestBytes)
	if q.set.Shard.Bytes > 0 {
		most = min(most, int(b.bytes))
	}
	size = aggregateEnds
	row.each(func(it *Item) bool {
		more := int(it.size) + len(it.HashKey) + aggregateFrame
		if n > 0 && (size+more > most || it.alone || !sure && !sameShard(first, it)) {
			return false
		}
		n++
		size += more
		return !it.alone
	})
	if n == 1 {
		size = int(first.size)
	}
	return n, size
}

// sameShard says that two records lie on one shard, whichever it is.
func sameShard(a, b *Item) bool { return a.Key == b.Key && a.HashKey == b.HashKey }

// oneShard says the same of several.
func oneShard(items []Item) bool {
	for i := 1; i < len(items); i++ {
		if !sameShard(&items[0], &items[i]) {
			return false
		}
	}
	return true
}

// appendAggregate encodes records as one.
func appendAggregate(dst []byte, items []Item, t *keyTable) []byte {
	start := len(dst)
	dst = append(dst, aggregateMagic...)
	t.reset(len(items))
	for i := range items {
		dst = t.append(dst, fieldKeyTable, items[i].Key)
	}
	hashKeys := map[string]uint64{}
	for i := range items {
		if name := items[i].HashKey; name != "" {
			if _, there := hashKeys[name]; !there {
				hashKeys[name] = uint64(len(hashKeys))
				dst = appendField(dst, fieldHashKeyTable, name)
			}
		}
	}
	for i := range items {
		it := &items[i]
		size := 1 + varintSize(uint64(t.index[i])) + 1 + varintSize(uint64(len(it.Data))) + len(it.Data)
		if it.HashKey != "" {
			size += 1 + varintSize(hashKeys[it.HashKey])
		}
		dst = binary.AppendUvarint(append(dst, fieldRecord), uint64(size))
		dst = binary.AppendUvarint(append(dst, fieldKeyIndex), uint64(t.index[i]))
		if it.HashKey != "" {
			dst = binary.AppendUvarint(append(dst, fieldHashKeyIndex), hashKeys[it.HashKey])
		}
		dst = binary.AppendUvarint(append(dst, fieldData), uint64(len(it.Data)))
		dst = append(dst, it.Data...)
	}
	sum := md5.Sum(dst[start+len(aggregateMagic):])
	return append(dst, sum[:]...)
}

func appendField(dst []byte, field byte, text string) []byte {
	dst = binary.AppendUvarint(append(dst, field), uint64(len(text)))
	return append(dst, text...)
}

func varintSize(n uint64) int { return (bits.Len64(n|1) + 6) / 7 }

// keyTable finds the keys that an aggregate has already. Its memory is used again.
type keyTable struct {
	seed  maphash.Seed
	slots []int32  // by hash: position in index of a record with the key, from 1
	keys  []string // by index
	index []int32  // of each record's key
}

func (t *keyTable) reset(records int) {
	if need := 1 << bits.Len(uint(2*records)); len(t.slots) < need {
		t.slots, t.seed = make([]int32, need), maphash.MakeSeed()
	}
	clear(t.slots)
	clear(t.keys)
	t.keys, t.index = t.keys[:0], t.index[:0]
}

// append notes a key, and appends it to the aggregate unless it is there.
func (t *keyTable) append(dst []byte, field byte, key string) []byte {
	mask := uint64(len(t.slots) - 1)
	for at := maphash.String(t.seed, key) & mask; ; at = (at + 1) & mask {
		n := t.slots[at]
		if n == 0 {
			t.keys = append(t.keys, key)
			n = int32(len(t.keys))
			t.slots[at] = n
			t.index = append(t.index, n-1)
			return appendField(dst, field, key)
		}
		if t.keys[n-1] == key {
			t.index = append(t.index, n-1)
			return dst
		}
	}
}

package recordbatch

import (
	"crypto/md5"
	"encoding/binary"
	"slices"
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
)

// A Part is a user record inside an aggregated one.
type Part struct {
	Record
	Index int64
}

// aggregate is what an item has that was made by Aggregate.
type aggregate struct {
	parts []Part
	line  string // of a keyed call: the line of its shard
}

// Parts are the user records inside an aggregated item; none in a plain one.
func (it *Item) Parts() []Part {
	if it.joined == nil {
		return nil
	}
	return it.joined.parts
}

// Aggregate joins the records of each shard into aggregated ones of at most
// AggregateBytes (a larger record goes alone) and keeps their order. What it
// makes belongs to this map: the queue takes an aggregate apart that a
// resharding has spread over several shards.
func Aggregate(items []Item, shards ShardMap) []Item {
	groups := make([][]Part, len(shards))
	sizes := make([]int, len(shards))
	var joined []Item
	for i := range items {
		it := &items[i]
		s := shards.Find(HashOf(&it.Record))
		// Tags, lengths and indexes take at most 32 bytes a record.
		size := it.Size() + len(it.HashKey) + 32
		if len(groups[s]) > 0 && sizes[s]+size > AggregateBytes {
			joined = append(joined, join(groups[s], it.Call, s, shards))
			groups[s], sizes[s] = nil, 0
		}
		groups[s] = append(groups[s], Part{it.Record, it.Index})
		sizes[s] += size
	}
	for s, parts := range groups {
		if len(parts) > 0 {
			joined = append(joined, join(parts, items[0].Call, s, shards))
		}
	}
	// Calls tell their records apart by number: the first of each stays in order.
	slices.SortStableFunc(joined, func(a, b Item) int { return int(a.Index - b.Index) })
	return joined
}

// join makes one item of the parts. A single part stays as it is.
func join(parts []Part, call *Call, s int, shards ShardMap) Item {
	first := parts[0]
	it := Item{Record: first.Record, Call: call, Index: first.Index, joined: &aggregate{}}
	if len(parts) > 1 {
		it.joined.parts = parts
		it.Data = appendAggregate(nil, parts)
	}
	if call.Keyed {
		// Two aggregates may hold the same keys, so that those of a shard follow
		// one another. The line's name can't be a key's: no key is that long.
		it.joined.line = shardLine(shards[s].From)
	}
	return it
}

func shardLine(from Hash) string {
	name := make([]byte, 2*MaxKeyCharacters*4)
	binary.BigEndian.PutUint64(name, from.Hi)
	binary.BigEndian.PutUint64(name[8:], from.Lo)
	return string(name)
}

// appendAggregate encodes the parts.
func appendAggregate(dst []byte, parts []Part) []byte {
	start := len(dst)
	dst = append(dst, aggregateMagic...)
	keys, hashKeys := map[string]uint64{}, map[string]uint64{}
	for i := range parts {
		dst = appendTable(dst, fieldKeyTable, keys, parts[i].Key)
	}
	for i := range parts {
		if parts[i].HashKey != "" {
			dst = appendTable(dst, fieldHashKeyTable, hashKeys, parts[i].HashKey)
		}
	}
	var head []byte
	for i := range parts {
		p := &parts[i]
		head = binary.AppendUvarint(append(head[:0], fieldKeyIndex), keys[p.Key])
		if p.HashKey != "" {
			head = binary.AppendUvarint(append(head, fieldHashKeyIndex), hashKeys[p.HashKey])
		}
		head = binary.AppendUvarint(append(head, fieldData), uint64(len(p.Data)))
		dst = binary.AppendUvarint(append(dst, fieldRecord), uint64(len(head)+len(p.Data)))
		dst = append(append(dst, head...), p.Data...)
	}
	sum := md5.Sum(dst[start+len(aggregateMagic):])
	return append(dst, sum[:]...)
}

// appendTable adds a name to a table unless it is there.
func appendTable(dst []byte, field byte, table map[string]uint64, name string) []byte {
	if _, there := table[name]; there {
		return dst
	}
	table[name] = uint64(len(table))
	dst = binary.AppendUvarint(append(dst, field), uint64(len(name)))
	return append(dst, name...)
}

// oneShard says whether all of an aggregate still belongs to one shard.
func (q *Queue) oneShard(it *Item) bool {
	s := &q.smap[q.smap.Find(HashOf(&it.Record))]
	for i := range it.Parts() {
		if !s.Takes(HashOf(&it.joined.parts[i].Record)) {
			return false
		}
	}
	return true
}

// split sends the parts of an aggregate singly, in its place.
func (q *Queue) split(it *Item) {
	pieces := make([]Item, len(it.Parts()))
	for i, p := range it.Parts() {
		pieces[i] = Item{Record: p.Record, Call: it.Call, Index: p.Index, Attempts: it.Attempts,
			Unsure: it.Unsure, at: it.at, seq: it.seq, prompt: true, joined: &aggregate{line: it.joined.line}}
		pieces[i].size = pieces[i].Size()
	}
	it.Call.open += len(pieces) - 1
	q.waitingBytes -= it.size
	for i := range pieces {
		q.waitingBytes += pieces[i].size
	}
	line := it.line
	if line == nil {
		for i := range pieces {
			q.place(&pieces[i])
		}
		return
	}
	// The pieces take the aggregate's place at the head of its line.
	behind := it.next
	for i := range pieces {
		pieces[i].line = line
		if i+1 < len(pieces) {
			pieces[i].next = &pieces[i+1]
		} else {
			pieces[i].next = behind
		}
	}
	line.head = &pieces[0]
	if behind == nil {
		line.tail = &pieces[len(pieces)-1]
	}
	q.chained += len(pieces) - 1
	q.place(&pieces[0])
}

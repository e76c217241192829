package recordbatch

import "hash/maphash"

const (
	// rememberedKeys is how many keys' shards a queue remembers, at 28 bytes each,
	// in pairs that share a hash.
	rememberedKeys = 4096
	// longestRemembered is the longest key in bytes that is remembered: a
	// device's name or number mostly fits.
	longestRemembered = 23
)

// places remembers in which shard short keys lie, since the MD5 that decides it
// costs more than all else that is done to queue a record. Keys are copied, so
// that nothing keeps a whole call's memory.
type places struct {
	seed  maphash.Seed
	slots []place
}

type place struct {
	key   [longestRemembered]byte
	size  uint8 // 0: empty, which no key is
	shard int32
}

func newPlaces() places {
	return places{seed: maphash.MakeSeed(), slots: make([]place, rememberedKeys)}
}

// find is the position in m of the record's shard.
func (p *places) find(m ShardMap, r *Record) int32 {
	if r.HashKey != "" || r.Key == "" || len(r.Key) > longestRemembered {
		return int32(m.Find(HashOf(r)))
	}
	pair := p.slots[maphash.String(p.seed, r.Key)%(rememberedKeys/2)*2:][:2]
	for i := range pair {
		if slot := &pair[i]; string(slot.key[:slot.size]) == r.Key {
			return slot.shard
		}
	}
	// The older one of the pair makes room.
	pair[1] = pair[0]
	pair[0].shard = int32(m.Find(HashOf(r)))
	pair[0].size = uint8(copy(pair[0].key[:], r.Key))
	return pair[0].shard
}

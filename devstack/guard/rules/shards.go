package rules

import (
	"crypto/md5"
	"math/big"
	"slices"
)

// A Shard owns the records whose hash lies in [Start, End].
type Shard struct {
	ID         string
	Start, End *big.Int
}

// Shards are the open shards of a stream by rising range.
type Shards []Shard

// SortShards orders shards for Find.
func SortShards(shards []Shard) Shards {
	slices.SortFunc(shards, func(a, b Shard) int { return a.Start.Cmp(b.Start) })
	return shards
}

// HashOf is the place of a record: its explicit hash key, else the MD5 of its
// partition key. It is nil when the explicit key is not a decimal number.
func HashOf(partitionKey, explicitHashKey string) *big.Int {
	if explicitHashKey != "" {
		hash, ok := new(big.Int).SetString(explicitHashKey, 10)
		if !ok {
			return nil
		}
		return hash
	}
	sum := md5.Sum([]byte(partitionKey))
	return new(big.Int).SetBytes(sum[:])
}

// Find answers the shard that owns a hash, or false.
func (s Shards) Find(hash *big.Int) (Shard, bool) {
	if hash == nil {
		return Shard{}, false
	}
	i, found := slices.BinarySearchFunc(s, hash, func(shard Shard, h *big.Int) int {
		switch {
		case shard.End.Cmp(h) < 0:
			return -1
		case shard.Start.Cmp(h) > 0:
			return 1
		}
		return 0
	})
	if !found {
		return Shard{}, false
	}
	return s[i], true
}

package recordbatch

import (
	"cmp"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
)

// A Hash is a place on the ring of 2^128 that the shards divide among them.
type Hash struct{ Hi, Lo uint64 }

// Compare orders places on the ring.
func (h Hash) Compare(o Hash) int {
	if h.Hi != o.Hi {
		return cmp.Compare(h.Hi, o.Hi)
	}
	return cmp.Compare(h.Lo, o.Lo)
}

var errHashKey = errors.New("the explicit hash key must be a decimal number of 0 to 2^128-1")

// ParseHashKey reads a decimal number of 0 to 2^128-1 without leading zeros,
// which is the form that the service accepts.
func ParseHashKey(s string) (Hash, error) {
	if s == "" || len(s) > 39 || s[0] == '0' && len(s) > 1 {
		return Hash{}, errHashKey
	}
	var h Hash
	for i := range len(s) {
		d := s[i] - '0'
		if d > 9 {
			return Hash{}, errHashKey
		}
		over, lo := bits.Mul64(h.Lo, 10)
		top, hi := bits.Mul64(h.Hi, 10)
		lo, carry := bits.Add64(lo, uint64(d), 0)
		hi, carry = bits.Add64(hi, over, carry)
		if top != 0 || carry != 0 {
			return Hash{}, errHashKey
		}
		h = Hash{hi, lo}
	}
	return h, nil
}

// HashOf is where a record falls: its explicit hash key, or the MD5 of its
// partition key.
func HashOf(r *Record) Hash {
	if r.HashKey != "" {
		if h, err := ParseHashKey(r.HashKey); err == nil {
			return h
		}
	}
	var sum [16]byte
	if len(r.Key) <= 64 {
		// The usual short key is copied, to keep the conversion off the heap.
		var short [64]byte
		n := copy(short[:], r.Key)
		sum = md5.Sum(short[:n])
	} else {
		sum = md5.Sum([]byte(r.Key))
	}
	return Hash{binary.BigEndian.Uint64(sum[:8]), binary.BigEndian.Uint64(sum[8:])}
}

// A Shard is an open shard and the part of the ring it takes, both ends
// included.
type Shard struct {
	ID       string
	From, To Hash
}

// A ShardMap is the open shards of a stream, in order of the ring.
type ShardMap []Shard

// NewShardMap orders the shards and sees that they cover the ring once.
func NewShardMap(shards []Shard) (ShardMap, error) {
	m := slices.Clone(shards)
	slices.SortFunc(m, func(a, b Shard) int { return a.From.Compare(b.From) })
	if len(m) == 0 {
		return nil, errors.New("the stream has no open shard")
	}
	var next Hash
	for i, s := range m {
		if s.From != next || s.To.Compare(s.From) < 0 {
			return nil, fmt.Errorf("shard %s does not begin where its neighbour ends", s.ID)
		}
		lo, carry := bits.Add64(s.To.Lo, 1, 0)
		hi, over := bits.Add64(s.To.Hi, 0, carry)
		next = Hash{hi, lo}
		if (over == 1) != (i == len(m)-1) {
			return nil, errors.New("the open shards do not cover every hash key once")
		}
	}
	return m, nil
}

// EvenShards divides the ring evenly among n shards without a name. It stands
// in where a stream's shards can't be listed.
func EvenShards(n int) ShardMap {
	n = max(n, 1)
	m := make(ShardMap, n)
	step := ^uint64(0)/uint64(n) + 1
	if n == 1 {
		step = 0
	}
	for i := range m {
		m[i].From = Hash{Hi: step * uint64(i)}
		if i > 0 {
			m[i-1].To = Hash{m[i].From.Hi - 1, ^uint64(0)}
		}
	}
	m[n-1].To = Hash{^uint64(0), ^uint64(0)}
	return m
}

// Find is the position of the shard that takes h.
func (m ShardMap) Find(h Hash) int {
	// Most streams are divided evenly: the guess is right.
	guess, _ := bits.Mul64(h.Hi, uint64(len(m)))
	if m[guess].Takes(h) {
		return int(guess)
	}
	lo, hi := 0, len(m)-1
	for lo < hi {
		mid := int(uint(lo+hi+1) >> 1)
		if m[mid].From.Compare(h) <= 0 {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// named is the shard of that name, or nil.
func (m ShardMap) named(id string) *Shard {
	for i := range m {
		if m[i].ID == id {
			return &m[i]
		}
	}
	return nil
}

// Takes says whether the shard takes h.
func (s *Shard) Takes(h Hash) bool { return s.From.Compare(h) <= 0 && h.Compare(s.To) <= 0 }

// Same says whether two maps name the same shards.
func (m ShardMap) Same(o ShardMap) bool { return slices.Equal(m, o) }

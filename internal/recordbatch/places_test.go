package recordbatch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever is remembered, a record's shard is the one that its hash falls in:
// keys that take each other's slot, keys as long as is remembered and longer,
// explicit hash keys.
func TestRememberedPlacesAreTheRightOnes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := named(rapid.IntRange(1, 70).Draw(t, "shards"))
		p := newPlaces()
		keys := rapid.SliceOfN(rapid.OneOf(rapid.StringN(0, 3, -1), rapid.StringN(0, 40, 40)), 1, 30).Draw(t, "keys")
		for i := range 3 * len(keys) {
			r := &Record{Key: keys[i%len(keys)]}
			if rapid.IntRange(0, 9).Draw(t, "explicit") == 0 {
				r.HashKey = "170141183460469231731687303715884105728"
			}
			if found := p.find(m, r); int(found) != m.Find(HashOf(r)) {
				t.Fatalf("%q was found in shard %d, it lies in %d", r.Key, found, m.Find(HashOf(r)))
			}
		}
	})
}

func TestPlacesKeepTheirOwnCopiesOfShortKeysOnly(t *testing.T) {
	m, p := named(4), newPlaces()
	key := []byte("device-1")
	r := &Record{Key: string(key)}
	p.find(m, r)
	used := 0
	for i := range p.slots {
		if p.slots[i].size > 0 {
			used++
		}
	}
	require.Equal(t, 1, used)
	p.find(m, &Record{Key: strings.Repeat("x", longestRemembered+1)})
	for i := range p.slots {
		require.LessOrEqual(t, int(p.slots[i].size), len(r.Key))
	}
}

package rules_test

import (
	"encoding/json"
	"math/big"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"sluice/devstack/guard/rules"
)

func TestBucketRefillsAndOwes(t *testing.T) {
	start := time.Unix(1000, 0)
	steps := []struct {
		at    time.Duration
		take  float64
		fits  bool
		level float64 // after
	}{
		{0, 10, true, 0},
		{0, 1, false, 0},
		{100 * time.Millisecond, 1, true, 0},
		{time.Second, 5, true, 4},
		{time.Second, 40, false, 4},             // more than is there, and than it can hold
		{2 * time.Second, 40, true, -30},        // full: let through, into debt
		{4500 * time.Millisecond, 1, false, -5}, // 25 paid back
		{5 * time.Second, 0, true, 0},
		{time.Minute, 0, true, 10},     // never above the capacity
		{30 * time.Second, 1, true, 9}, // a clock that goes back is passed over
	}
	b := rules.NewBucket(10, 10, start)
	for _, step := range steps {
		now := start.Add(step.at)
		require.Equal(t, step.fits, b.Fits(step.take, now), "%+v", step)
		if step.fits {
			b.Take(step.take, now)
		}
		require.InDelta(t, step.level, b.Level(now), 1e-9, "%+v", step)
	}
}

func TestBucketWithoutRateHasNoLimit(t *testing.T) {
	now := time.Unix(1000, 0)
	b := rules.NewBucket(0, 0, now)
	for range 3 {
		require.True(t, b.Fits(1e9, now))
		b.Take(1e9, now)
	}
	b.Set(5, 5, now)
	require.True(t, b.Fits(5, now), "a limit set later begins full")
	b.Take(5, now)
	require.False(t, b.Fits(1, now))
}

func TestShardOfARecord(t *testing.T) {
	whole := new(big.Int).Lsh(big.NewInt(1), 128)
	half := new(big.Int).Rsh(whole, 1)
	shards := rules.SortShards([]rules.Shard{
		{ID: "b", Start: half, End: new(big.Int).Sub(whole, big.NewInt(1))},
		{ID: "a", Start: big.NewInt(0), End: new(big.Int).Sub(half, big.NewInt(1))},
	})
	tests := []struct{ key, explicit, shard string }{
		{"a", "", "a"}, // MD5 0cc1…
		{"b", "", "b"}, // MD5 92eb…
		{"b", "0", "a"},
		{"a", half.String(), "b"},
		{"a", new(big.Int).Sub(half, big.NewInt(1)).String(), "a"},
		{"a", whole.String(), ""},
		{"a", "abc", ""},
	}
	for _, test := range tests {
		shard, found := shards.Find(rules.HashOf(test.key, test.explicit))
		require.Equal(t, test.shard, shard.ID, "%+v", test)
		require.Equal(t, test.shard != "", found)
	}
}

func TestItemSize(t *testing.T) {
	tests := map[string]int{
		`{"id":{"S":"x"}}`:                       3,
		`{"id":{"S":"é"}}`:                       4,
		`{"n":{"N":"1234"}}`:                     4,
		`{"b":{"B":"AAEC"}}`:                     4,
		`{"b":{"B":"AA=="}}`:                     2,
		`{"t":{"BOOL":true}}`:                    2,
		`{"s":{"SS":["ab","c"]}}`:                4,
		`{"l":{"L":[{"S":"ab"},{"NULL":true}]}}`: 9,
		`{"m":{"M":{"k":{"S":"v"}}}}`:            7,
	}
	for text, size := range tests {
		require.Equal(t, size, item(t, text).Size(), text)
	}
}

func TestIndexWriteUnits(t *testing.T) {
	key := []string{"id"}
	all := rules.Index{Name: "all", Global: true, Key: []string{"g"}, All: true}
	keys := rules.Index{Name: "keys", Global: true, Key: []string{"g"}}
	some := rules.Index{Name: "some", Global: true, Key: []string{"g"}, Others: []string{"x"}}
	tests := []struct {
		name          string
		index         rules.Index
		before, after string
		units         float64
	}{
		{"not in the index", all, ``, `{"id":{"S":"1"}}`, 0},
		{"comes", all, ``, `{"id":{"S":"1"},"g":{"S":"a"}}`, 1},
		{"goes", all, `{"id":{"S":"1"},"g":{"S":"a"}}`, ``, 1},
		{"stays the same", all, `{"id":{"S":"1"},"g":{"S":"a"}}`, `{"g": {"S":"a"}, "id":{"S":"1"}}`, 0},
		{"loses its index key", all, `{"id":{"S":"1"},"g":{"S":"a"}}`, `{"id":{"S":"1"}}`, 1},
		{"moves", all, `{"id":{"S":"1"},"g":{"S":"a"}}`, `{"id":{"S":"1"},"g":{"S":"b"}}`, 2},
		{"changes elsewhere, all projected", all, `{"id":{"S":"1"},"g":{"S":"a"}}`, `{"id":{"S":"1"},"g":{"S":"a"},"y":{"S":"z"}}`, 1},
		{"changes elsewhere, keys only", keys, `{"id":{"S":"1"},"g":{"S":"a"}}`, `{"id":{"S":"1"},"g":{"S":"a"},"y":{"S":"z"}}`, 0},
		{"changes what is projected", some, `{"id":{"S":"1"},"g":{"S":"a"}}`, `{"id":{"S":"1"},"g":{"S":"a"},"x":{"S":"z"}}`, 1},
		{"changes what is not", some, `{"id":{"S":"1"},"g":{"S":"a"}}`, `{"id":{"S":"1"},"g":{"S":"a"},"y":{"S":"z"}}`, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			require.Equal(t, test.units, rules.IndexWriteUnits(test.index, key, item(t, test.before), item(t, test.after)))
		})
	}
}

func TestWriteUnits(t *testing.T) {
	for size, units := range map[int]float64{0: 1, 1: 1, 1024: 1, 1025: 2, 10240: 10} {
		require.Equal(t, units, rules.WriteUnits(size), size)
	}
}

func item(t *testing.T, text string) rules.Item {
	t.Helper()
	if text == "" {
		return nil
	}
	var i rules.Item
	require.NoError(t, json.Unmarshal([]byte(text), &i))
	return i
}

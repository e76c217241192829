package jobchain

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// FuzzRestore: whatever bytes a carried state has, the chain that goes on from it ends,
// and no job is dispatched after it was COMPLETE.
func FuzzRestore(f *testing.F) {
	raw := []byte(`{"jobs":[{"id":"a","activity":"A"},{"id":"b","activity":"A","after":["a"],"retry":2,"sequence":"s"},{"id":"c","workflow":"W","after":["b"],"priority":1}],"sequences":{"s":{"retry":1}}}`)
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	doc, faults := Parse(raw)
	require.NoError(f, faults.Err())
	chain := NewChain(&doc, nil)
	seed := func() {
		_, carried := chain.Carry(now, 0, 1<<20)
		text, err := json.Marshal(carried)
		require.NoError(f, err)
		f.Add(text)
	}
	seed()
	i, ok := chain.Next(now)
	require.True(f, ok)
	chain.Start(i, now)
	seed()
	chain.End(i, now.Add(time.Second), End{Kind: Succeeded, Output: json.RawMessage(`{"x":1}`)})
	seed()
	f.Add([]byte(`{"jobs":[[0,1,9223372036854775807,-1,7,0,0,9223372036854775807],[2,3,1,1,1,1,1,1]],"log":[[0,1,9,9,9]],"checkpoints":{"-1":1,"0":"x"},"sequences":{"s":{"restarts":-5}}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var carried Carried
		if json.Unmarshal(text, &carried) != nil {
			return
		}
		doc, _ := Parse(raw)
		c := Restore(&doc, nil, carried)
		when := now
		for range 50 {
			i, ok := c.Next(when)
			if !ok {
				break
			}
			require.NotEqual(t, Complete, c.View(i).State)
			c.Start(i, when)
			c.End(i, when.Add(time.Second), End{Kind: Succeeded, Output: json.RawMessage(`1`)})
			require.Equal(t, Complete, c.View(i).State)
			when = when.Add(time.Hour)
		}
		c.Outcome()
		c.Outputs(1 << 20)
		c.Waits(when)
		_, again := c.Carry(when, 0, 1<<20)
		_, err := json.Marshal(again)
		require.NoError(t, err)
	})
}

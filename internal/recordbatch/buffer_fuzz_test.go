package recordbatch

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzBuffer: whatever bytes a carried buffer has, every record in it is stored, dropped
// or still there, and none is sent that is not in it.
func FuzzBuffer(f *testing.F) {
	var b Buffer
	b.Add([]Buffered{{}, {}, {}})
	for range 2 {
		text, err := json.Marshal(b)
		require.NoError(f, err)
		f.Add(text, 2)
		b.Take(2)
	}
	f.Add([]byte(`{"records":[{}],"inFlight":9,"due":-3,"bytes":-1}`), 5)
	f.Fuzz(func(t *testing.T, text []byte, n int) {
		var b Buffer
		if json.Unmarshal(text, &b) != nil {
			return
		}
		n = max(1, n%500)
		had := len(b.Records)
		batch := b.Take(n)
		require.Len(t, batch, min(n, had))
		stored, dropped := b.Settle(Report{Failed: []int64{0}, Kept: []int64{1}, Refused: []int64{2}}, 3)
		require.Equal(t, had, stored+dropped+len(b.Records))
		b.Drop(n)
		b.Add([]Buffered{{}})
		_, err := json.Marshal(b)
		require.NoError(t, err)
	})
}

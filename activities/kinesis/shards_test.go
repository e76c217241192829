package kinesis

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// Calls that find a stream unknown at the same time ask for its shards once.
func TestCallsThatBeginTogetherListShardsOnce(t *testing.T) {
	w := newWorld(t, 2)
	w.stream.hold = make(chan struct{})
	const calls = 20
	var begun, ended sync.WaitGroup
	begun.Add(calls)
	for range calls {
		ended.Go(func() {
			begun.Done()
			out, err := w.kinesis.Send(t.Context(), Destination{StreamName: "s", MaxAttempts: 10}, numbered(5, 5))
			require.NoError(t, err)
			require.EqualValues(t, 5, out.StoredRecordCount)
		})
	}
	begun.Wait()
	close(w.stream.hold)
	ended.Wait()
	require.Equal(t, 1, w.stream.lists)
}

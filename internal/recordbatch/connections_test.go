package recordbatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestConnectionsFollowTheLatency: as many as the least latency of late calls for,
// within their bounds; that somebody is busy opens none, and a number that is set
// stands.
func TestConnectionsFollowTheLatency(t *testing.T) {
	now := int64(0)
	c := connections{}
	require.Equal(t, leastConnections, c.limit(), "before anything is known")
	for _, step := range []struct {
		took time.Duration
		want int
	}{
		{time.Millisecond, 8}, {50 * time.Millisecond, 8}, {time.Second, 8},
	} {
		c.answered(step.took, now)
		require.Equal(t, step.want, c.limit(), step.took)
	}
	// What was fast is forgotten after a while, not at once.
	for range 3 {
		now += int64(latencyWindow)
		c.answered(5*time.Millisecond, now)
	}
	require.Equal(t, 20, c.limit())
	for range 3 {
		now += int64(latencyWindow)
		c.answered(20*time.Millisecond, now)
	}
	require.Equal(t, mostConnections, c.limit())
	c.answered(2*time.Millisecond, now)
	require.Equal(t, 8, c.limit(), "fast again")
	fixed := connections{fixed: 3}
	fixed.answered(time.Second, 0)
	require.Equal(t, 3, fixed.limit())
}

// respond answers a request after a while.
func respond(q *Queue, r *Request, after time.Duration, now *time.Time) {
	*now = now.Add(after)
	r.AllStored = true
	q.Done(r, Outcome{Kind: Answered}, *now)
	q.Release(r)
}

// TestTheBufferFollowsTheConnections: it holds as much again as is in flight, and of
// records that are aggregated as many bytes as their requests have.
func TestTheBufferFollowsTheConnections(t *testing.T) {
	for _, joined := range []bool{false, true} {
		set, now := testSettings(), start
		set.BufferBytes = 1 << 30
		q := NewQueue(set, named(64), now)
		call := &Call{Aggregate: joined, MaxAttempts: 10}
		fill := func() (taken int) {
			for n := 500; n == 500; taken += n {
				n = q.Push(items(call, 500, 1000), now)
			}
			return taken
		}
		held := fill()
		if !joined {
			require.Equal(t, leastBuffer, held)
		}
		for range 3 * int(latencyWindow/time.Second) {
			r, _ := q.Next(now)
			require.NotNil(t, r)
			respond(q, r, time.Second, &now)
			fill()
		}
		if !joined {
			require.Equal(t, (2*mostConnections+2)*set.Records, q.Held())
			continue
		}
		require.Greater(t, q.Held(), held)
		require.LessOrEqual(t, q.held.aggregatedBytes, (2*mostConnections+2)*aggregateRequestBytes)
	}
}

// TestTheBufferIsBoundedByMemory: whatever the latency, records take their bound, and
// a request that has large ones leaves room for few others.
func TestTheBufferIsBoundedByMemory(t *testing.T) {
	set := testSettings()
	q := NewQueue(set, named(16), start)
	call := &Call{MaxAttempts: 10}
	pushed := q.Push(items(call, 500, 500_000), start)
	require.LessOrEqual(t, q.Memory(), set.BufferBytes)
	require.Greater(t, memory(pushed+1, (pushed+1)*500_000), set.BufferBytes)
	sent := 0
	for r, _ := q.Next(start); r != nil; r, _ = q.Next(start) {
		sent += r.Bytes
		q.Flush()
	}
	require.LessOrEqual(t, sent, sentMost)
	require.Greater(t, sent, sentMost-sentMore-600_000)

	empty := NewQueue(set, named(1), start)
	require.Equal(t, 1, empty.Push(items(call, 1, 60<<20), start), "one has room whatever its size")
}

// TestRecordsLingerShortlyWhileFullRequestsGo: what waits for others then comes from
// callers who wait for answers, so that no other comes; when nothing goes they linger
// for the whole interval.
func TestRecordsLingerShortlyWhileFullRequestsGo(t *testing.T) {
	q, now := NewQueue(testSettings(), named(4096), start), start
	call := &Call{MaxAttempts: 10}
	q.Push(items(call, 100, 10), now)
	r, wake := q.Next(now)
	require.Nil(t, r)
	require.WithinDuration(t, now.Add(100*time.Millisecond), wake, time.Millisecond)
	q.Push(items(call, 500, 10), now)
	full, _ := q.Next(now)
	require.Len(t, full.Items, 500)
	respond(q, full, 8*time.Millisecond, &now)

	// The rest waited for longer than an eighth of an answer.
	r, _ = q.Next(now)
	require.Len(t, r.Items, 100)
	q.Push(items(call, 50, 10), now) // some of them are of shards that are in flight
	second, wake := q.Next(now)
	require.Nil(t, second)
	require.WithinDuration(t, now.Add(time.Millisecond), wake, time.Millisecond/2)
	now = wake
	second, _ = q.Next(now)
	require.NotNil(t, second)

	// Two that are not full are in flight: small ones would split up ever further.
	few := items(call, 20, 10)
	for i := range few {
		few[i].Key += " of another shard"
	}
	q.Push(few, now)
	third, wake := q.Next(now)
	require.Nil(t, third)
	require.Greater(t, wake.Sub(now), 90*time.Millisecond)
	respond(q, r, time.Millisecond, &now)
	third, _ = q.Next(now)
	require.NotNil(t, third, "one of the two was answered")
}

package recordbatch

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func testSettings() Settings {
	return Settings{
		Limits:        Limits{Records: 500, RequestBytes: 5 << 20, RecordBytes: 1 << 20},
		FlushInterval: 100 * time.Millisecond,
		MaxInFlight:   8,
		BufferRecords: 10000,
		Backoff:       func(n int) time.Duration { return min(50*time.Millisecond<<min(n-1, 20), 10*time.Second) },
	}
}

// named gives even shards names, as a stream's have.
func named(n int) ShardMap {
	m := EvenShards(n)
	for i := range m {
		m[i].ID = fmt.Sprintf("shardId-%012d", i)
	}
	return m
}

func items(call *Call, n, size int) []Item {
	list := make([]Item, n)
	for i := range list {
		list[i] = Item{Record: Record{Data: make([]byte, size), Key: fmt.Sprintf("key-%d", i)}, Call: call, Index: int64(i)}
	}
	return list
}

// store answers a request as a service that takes all.
func store(q *Queue, r *Request, now time.Time) {
	r.Verdicts = r.Verdicts[:0]
	for _, it := range r.Items {
		r.Verdicts = append(r.Verdicts, Verdict{Kind: Stored, Shard: q.Shards()[q.Shards().Find(HashOf(&it.Record))].ID})
	}
	q.Done(r, Outcome{Kind: Answered}, now)
}

// A world sends what a queue gives out to a service that throttles, fails,
// loses answers and reshards as a script of draws says.
type world struct {
	t      *rapid.T
	q      *Queue
	now    time.Time
	out    []*Request
	stored map[*Call][]int64 // in the order in which the service stored them
	ends   map[*Call]map[int64]End
	sent   map[*Call]map[int64]int
}

func (w *world) send() {
	for {
		r, wake := w.q.Next(w.now)
		if r == nil {
			require.True(w.t, wake.IsZero() || wake.After(w.now), "a wake in the past would spin")
			return
		}
		w.check(r)
		w.out = append(w.out, r)
	}
}

// check holds every request to the limits and to what may be outside at once.
func (w *world) check(r *Request) {
	set := w.q.set
	require.NotEmpty(w.t, r.Items)
	require.LessOrEqual(w.t, len(r.Items), set.Records)
	bytes := 0
	for _, it := range r.Items {
		bytes += it.Size()
	}
	require.Equal(w.t, r.Bytes, bytes)
	require.LessOrEqual(w.t, bytes, set.RequestBytes)
	outside := map[string]bool{}
	for _, other := range append(w.out, r) {
		shards := map[int32]bool{}
		for _, it := range other.Items {
			if it.Call.Keyed {
				id := fmt.Sprintf("%p %s", it.Call, it.Key)
				require.False(w.t, outside[id], "two records of a key outside")
				outside[id] = true
			} else {
				shards[it.shard] = true
			}
		}
		for s := range shards {
			id := fmt.Sprintf("shard %d", s)
			require.False(w.t, outside[id], "a shard in two requests")
			outside[id] = true
		}
	}
	for _, it := range r.Items {
		w.sent[it.Call][it.Index]++
	}
}

// finish ends one of the requests outside.
func (w *world) finish() {
	if len(w.out) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.out)-1).Draw(w.t, "which")
	r := w.out[i]
	w.out = append(w.out[:i], w.out[i+1:]...)
	kind := rapid.SampledFrom([]int{Answered, Answered, Answered, Throttled, Failed, Lost, Unfit}).Draw(w.t, "outcome")
	if kind == Unfit && len(r.Items) == 1 {
		kind = Answered
	}
	copies := kind == Lost && rapid.Bool().Draw(w.t, "stored though lost")
	for _, it := range r.Items {
		v := Verdict{Kind: Stored, Shard: w.q.Shards()[it.shard].ID}
		if kind == Answered && rapid.IntRange(0, 5).Draw(w.t, "verdict") == 0 {
			v = Verdict{Kind: Refused, Code: CodeThrottled}
		}
		r.Verdicts = append(r.Verdicts, v)
		if kind == Answered && v.Kind == Stored || copies {
			w.stored[it.Call] = append(w.stored[it.Call], it.Index)
		}
	}
	w.q.Done(r, Outcome{Kind: kind}, w.now)
	for i, it := range r.Items {
		if r.Ends[i] == EndAgain {
			continue
		}
		_, twice := w.ends[it.Call][it.Index]
		require.False(w.t, twice, "settled twice")
		w.ends[it.Call][it.Index] = r.Ends[i]
	}
	w.q.Release(r)
}

// TestQueueLosesNothing drives a queue with random traffic: every record comes
// to exactly one end, no request breaks a limit, and order holds as promised.
func TestQueueLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := testSettings()
		set.Records = rapid.IntRange(1, 8).Draw(t, "batch")
		set.RequestBytes = rapid.IntRange(60, 400).Draw(t, "bytes")
		set.RecordBytes = 60
		set.MaxInFlight = rapid.IntRange(1, 4).Draw(t, "in flight")
		if rapid.Bool().Draw(t, "paced") {
			set.Shard = Pace{Records: 20, Bytes: 500}
		}
		w := &world{t: t, now: start, stored: map[*Call][]int64{}, ends: map[*Call]map[int64]End{}, sent: map[*Call]map[int64]int{}}
		w.q = NewQueue(set, named(rapid.IntRange(1, 5).Draw(t, "shards")), w.now)
		var calls []*Call
		pushed := map[*Call]int{}
		keys := map[*Call][]string{}
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			c := &Call{Keyed: rapid.Bool().Draw(t, "keyed"), MaxAttempts: rapid.IntRange(1, 12).Draw(t, "attempts")}
			calls = append(calls, c)
			w.ends[c], w.sent[c] = map[int64]End{}, map[int64]int{}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				c := rapid.SampledFrom(calls).Draw(t, "call")
				var batch []Item
				for range rapid.IntRange(1, 10).Draw(t, "records") {
					key := fmt.Sprintf("k%d", rapid.IntRange(0, 4).Draw(t, "key"))
					batch = append(batch, Item{Record: Record{Data: make([]byte, rapid.IntRange(0, 50).Draw(t, "size")), Key: key},
						Call: c, Index: int64(pushed[c])})
					keys[c] = append(keys[c], key)
					pushed[c]++
				}
				w.q.Push(batch, w.now)
			case 2, 3:
				w.send()
			case 4:
				w.finish()
			case 5:
				w.now = w.now.Add(time.Duration(rapid.IntRange(1, 2000).Draw(t, "ms")) * time.Millisecond)
			case 6:
				w.q.SetShards(named(rapid.IntRange(1, 5).Draw(t, "shards")), w.now)
			}
		}
		for range 100000 {
			w.q.Flush()
			w.send()
			if len(w.out) == 0 {
				r, wake := w.q.Next(w.now)
				require.Nil(t, r)
				if w.q.Waiting() == 0 {
					break
				}
				require.False(t, wake.IsZero(), "%d wait for ever", w.q.Waiting())
				w.now = wake
				continue
			}
			w.finish()
		}
		require.Zero(t, w.q.Waiting())
		require.Zero(t, w.q.HeldBytes())
		require.Zero(t, w.q.Held())
		require.Zero(t, w.q.InFlight())
		for _, c := range calls {
			require.Zero(t, c.Open())
			require.Len(t, w.ends[c], pushed[c])
			for i, end := range w.ends[c] {
				if end == EndStored {
					require.Contains(t, w.stored[c], i)
				}
				require.LessOrEqual(t, w.sent[c][i], c.MaxAttempts+10)
			}
			if c.Keyed {
				checkKeyOrder(t, w.stored[c], keys[c])
			}
		}
	})
}

// checkKeyOrder: among the first copies of a key, none comes after a later one.
func checkKeyOrder(t *rapid.T, stored []int64, keys []string) {
	last := map[string]int64{}
	for _, i := range stored {
		if before, ok := last[keys[i]]; ok {
			require.GreaterOrEqual(t, i, before, "key %s overtaken", keys[i])
		}
		last[keys[i]] = i
	}
}

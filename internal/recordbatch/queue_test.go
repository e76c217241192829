package recordbatch

import (
	"fmt"
	"slices"
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
		BufferBytes:   64 << 20,
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
		list[i] = Item{Record: &Record{Data: make([]byte, size), Key: fmt.Sprintf("key-%d", i)}, Call: call, Index: int64(i)}
	}
	return list
}

// store answers a request as a service that takes all.
func store(q *Queue, r *Request, now time.Time) {
	r.AllStored = true
	q.Done(r, Outcome{Kind: Answered}, now)
}

// A world sends what a queue gives out to a service that throttles, fails,
// loses answers and reshards as a script of draws says.
type world struct {
	t      *rapid.T
	q      *Queue
	now    time.Time
	out    []*Request
	shards ShardMap          // as the service has them
	stored map[*Call][]int64 // in the order in which the service stored them, where they belong
	copies map[*Call]map[int64]int
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

// check holds every request to the limits and to what may be in flight at once.
func (w *world) check(r *Request) {
	set := w.q.set
	require.NotEmpty(w.t, r.Items)
	require.LessOrEqual(w.t, r.Records(), set.Records)
	require.LessOrEqual(w.t, r.Bytes, set.RequestBytes)
	r.each(func(_, from, to int) {
		if to-from > 1 {
			require.LessOrEqual(w.t, len(appendAggregate(nil, r.Items[from:to], &keyTable{})), AggregateBytes)
		}
	})
	seen := map[string]bool{}
	for _, other := range append(w.out, r) {
		rows := map[string]bool{}
		other.each(func(_, from, to int) {
			it := &other.Items[from]
			id := fmt.Sprintf("shard %d row %d", it.shard, it.Call.kind())
			switch it.Call.kind() {
			case keyed:
				id = fmt.Sprintf("%p %s", it.Call, it.Key)
				require.False(w.t, seen[id], "two records of a key in flight")
				seen[id] = true
			case keyedAggregates:
				require.False(w.t, rows[id], "two aggregates of a shard in a request that keeps order")
				rows[id] = true
			default:
				rows[id] = true
			}
		})
		for id := range rows {
			require.False(w.t, seen[id], "a shard in two requests")
			seen[id] = true
		}
	}
	for i := range r.Items {
		w.sent[r.Items[i].Call][r.Items[i].Index]++
	}
}

// finish ends one of the requests in flight.
func (w *world) finish() {
	if len(w.out) == 0 {
		return
	}
	i := rapid.IntRange(0, len(w.out)-1).Draw(w.t, "which")
	r := w.out[i]
	w.out = append(w.out[:i], w.out[i+1:]...)
	kind := rapid.SampledFrom([]OutcomeKind{Answered, Answered, Answered, Throttled, Failed, Lost, Unfit}).Draw(w.t, "outcome")
	if kind == Unfit && r.Records() == 1 {
		kind = Answered
	}
	copies := kind == Lost && rapid.Bool().Draw(w.t, "stored though lost")
	r.each(func(_, from, to int) {
		v := Verdict{Kind: Stored}
		shard := &w.shards[w.shards.Find(HashOf(r.Items[from].Record))]
		if shard.ID != w.q.Shards()[r.Items[from].shard].ID {
			v.Told = &Told{Shard: shard.ID}
		}
		if kind == Answered && rapid.IntRange(0, 5).Draw(w.t, "verdict") == 0 {
			v = Verdict{Kind: Refused, Told: &Told{Code: CodeThrottled}}
		}
		r.Verdicts = append(r.Verdicts, v)
		if kind == Answered && v.Kind == Stored || copies {
			w.store(shard, r.Items[from:to])
		}
	})
	r.AllStored = kind == Answered && !slices.ContainsFunc(r.Verdicts, func(v Verdict) bool { return v != *storedVerdict })
	w.q.Done(r, Outcome{Kind: kind}, w.now)
	w.settle(r)
	if w.q.stale && rapid.Bool().Draw(w.t, "located") {
		w.locate()
	}
}

// store is what the service's readers find: records of an aggregate that lie on
// another shard than their own are passed over.
func (w *world) store(shard *Shard, items []Item) {
	for i := range items {
		it := &items[i]
		w.copies[it.Call][it.Index]++
		if shard.Takes(HashOf(it.Record)) {
			w.stored[it.Call] = append(w.stored[it.Call], it.Index)
		}
	}
}

// locate lists the shards, or can't.
func (w *world) locate() {
	m := w.shards
	if rapid.IntRange(0, 3).Draw(w.t, "listed") == 0 {
		m = nil
	}
	for _, r := range w.q.Located(m, w.now) {
		w.settle(r)
	}
	if m != nil {
		w.q.SetShards(m, w.now)
	}
}

// settle notes the ends of a request.
func (w *world) settle(r *Request) {
	for i := range r.Items {
		it := &r.Items[i]
		if r.EndOf(i) == EndAgain {
			continue
		}
		_, twice := w.ends[it.Call][it.Index]
		require.False(w.t, twice, "settled twice")
		w.ends[it.Call][it.Index] = r.EndOf(i)
		require.NotNil(w.t, r.VerdictOf(i))
	}
	w.q.Release(r)
}

// TestQueueLosesNothing drives a queue with random traffic: every record comes
// to exactly one end, no request breaks a limit, and order holds as promised.
func TestQueueLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set := testSettings()
		set.Records = rapid.IntRange(1, 8).Draw(t, "batch")
		set.RequestBytes = rapid.IntRange(200, 800).Draw(t, "bytes")
		set.RecordBytes = 200
		set.Connections = rapid.IntRange(1, 4).Draw(t, "in flight")
		if rapid.Bool().Draw(t, "paced") {
			set.Shard = Pace{Records: 20, Bytes: 500}
		}
		w := &world{t: t, now: start, shards: named(rapid.IntRange(1, 5).Draw(t, "shards")), stored: map[*Call][]int64{},
			copies: map[*Call]map[int64]int{}, ends: map[*Call]map[int64]End{}, sent: map[*Call]map[int64]int{}}
		w.q = NewQueue(set, w.shards, w.now)
		var calls []*Call
		pushed := map[*Call]int{}
		keys := map[*Call][]string{}
		for range rapid.IntRange(1, 3).Draw(t, "calls") {
			c := &Call{Keyed: rapid.Bool().Draw(t, "keyed"), Aggregate: rapid.Bool().Draw(t, "aggregate"),
				MaxAttempts: rapid.IntRange(1, 12).Draw(t, "attempts")}
			calls = append(calls, c)
			w.ends[c], w.sent[c], w.copies[c] = map[int64]End{}, map[int64]int{}, map[int64]int{}
		}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0, 1:
				c := rapid.SampledFrom(calls).Draw(t, "call")
				var batch []Item
				for range rapid.IntRange(1, 10).Draw(t, "records") {
					key := fmt.Sprintf("k%d", rapid.IntRange(0, 4).Draw(t, "key"))
					batch = append(batch, Item{Record: &Record{Data: make([]byte, rapid.IntRange(0, 50).Draw(t, "size")), Key: key},
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
				w.reshard(rapid.IntRange(1, 5).Draw(t, "shards"))
				if rapid.Bool().Draw(t, "known at once") {
					w.locate()
				}
			}
		}
		for range 100000 {
			w.q.Flush()
			w.send()
			if len(w.out) == 0 {
				w.locate()
				r, wake := w.q.Next(w.now)
				if r != nil {
					w.out = append(w.out, r)
					continue
				}
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
		require.Zero(t, w.q.Held())
		require.Zero(t, w.q.Memory())
		require.Zero(t, w.q.sentBytes)
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

// reshard gives the stream other shards. Their names are new where their ranges are.
func (w *world) reshard(n int) {
	m := EvenShards(n)
	for i := range m {
		m[i].ID = fmt.Sprintf("shard-%d-of-%d", i, n)
	}
	w.shards = m
}

// checkKeyOrder: among the first copies of a key, none comes after a later one.
func checkKeyOrder(t *rapid.T, stored []int64, keys []string) {
	last, seen := map[string]int64{}, map[int64]bool{}
	for _, i := range stored {
		if seen[i] {
			continue
		}
		seen[i] = true
		if before, ok := last[keys[i]]; ok {
			require.GreaterOrEqual(t, i, before, "key %s overtaken", keys[i])
		}
		last[keys[i]] = i
	}
}

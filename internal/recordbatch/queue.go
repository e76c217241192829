package recordbatch

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Settings are what a Queue works by.
type Settings struct {
	Limits
	// FlushInterval is how long a record lingers for others at most; zero: it
	// waits until a batch is full or somebody calls Flush.
	FlushInterval time.Duration
	// Connections bounds the requests in flight; zero: as many as the latency of
	// answers calls for.
	Connections int
	// BufferRecords bounds the records that are held; zero: as many as keep the
	// connections busy. BufferBytes bounds the memory that they may take.
	BufferRecords int
	BufferBytes   int
	// Shard is the pace of each shard.
	Shard Pace
	// Backoff is how long to wait after n failures in a row, n from 1.
	Backoff func(n int) time.Duration
}

// shard is what the queue knows of an open shard.
type shard struct {
	Shard
	bucket    bucket
	until     int64 // backs off until then
	errors    int
	escalated int64
}

// Queue is all that waits for one stream. It is not safe for concurrent use.
type Queue struct {
	set      Settings
	shards   []shard
	rows     []row // of each kind by shard
	smap     ShardMap
	places   places // in smap
	named    bool   // smap has the stream's own shards
	stale    bool   // a record was stored elsewhere than smap has it
	pending  ShardMap
	turn     int
	segments segments

	waiting     int // in rows
	behind      int // in key queues
	inFlight    int // requests
	partial     int // of them, those that were not full
	sent        int // records in flight
	sentBytes   int // what the service counts of them
	held        holdings
	pushed      int64 // when the last item was
	flushed     int64
	busyUntil   int64
	connections connections
	misplaced   []misplaced

	until     int64
	errors    int
	escalated int64
	cut       int // bound on a request's records after one was refused, or 0

	spare     []*Request
	spareKeys []*keyQueues
}

// holdings is what waits or is in flight: records that go singly, and those that
// are aggregated.
type holdings struct{ singly, singlyBytes, aggregated, aggregatedBytes int }

// add counts n items of a kind, of so many bytes; taken away where they are negative.
func (h *holdings) add(kind, n, bytes int) {
	if kind >= aggregates {
		h.aggregated += n
		h.aggregatedBytes += bytes
		return
	}
	h.singly += n
	h.singlyBytes += bytes
}

// NewQueue makes an empty queue for a stream of these shards.
func NewQueue(set Settings, shards ShardMap, now time.Time) *Queue {
	q := &Queue{set: set, connections: connections{fixed: set.Connections}}
	q.install(shards, now.UnixNano())
	return q
}

// Waiting is how many records wait to be sent or repeated.
func (q *Queue) Waiting() int { return q.waiting + q.behind + q.misplacedItems() }

// Held is how many records wait or are in flight.
func (q *Queue) Held() int { return q.held.singly + q.held.aggregated }

// Memory is what they take, as BufferBytes counts it.
func (q *Queue) Memory() int { return memory(q.Held(), q.held.singlyBytes+q.held.aggregatedBytes) }

// bodies is what the bodies of the requests in flight take, in base64.
func (q *Queue) bodies() int { return q.sentBytes / 3 * 4 }

// InFlight is how many requests are out.
func (q *Queue) InFlight() int { return q.inFlight }

// Shards is the map in force.
func (q *Queue) Shards() ShardMap { return q.smap }

// room is what there is room for now, of records of a kind.
func (q *Queue) room(kind int) room {
	r := room{records: math.MaxInt, bytes: math.MaxInt, memory: q.set.BufferBytes - q.Memory() - q.bodies()}
	// As much again as can be in flight, so that each answer finds the next request
	// full.
	requests := 2*q.connections.limit() + 2
	switch {
	case q.set.BufferRecords > 0:
		r.records = q.set.BufferRecords - q.Held()
	case kind >= aggregates:
		r.bytes = requests*aggregateRequestBytes - q.held.aggregatedBytes
	default:
		r.records = max(leastBuffer, requests*q.set.Records) - q.held.singly
	}
	return r
}

type room struct{ records, bytes, memory int }

// take says whether there is room for a record more, which it takes then.
func (r *room) take(size int) bool {
	r.records--
	r.bytes -= size
	r.memory -= memory(1, size)
	return r.records >= 0 && r.bytes >= 0 && r.memory >= 0
}

// HasRoom says whether there is room for a small record of a call.
func (q *Queue) HasRoom(c *Call) bool {
	r := q.room(c.kind())
	return r.take(1)
}

// leastBuffer is how many records a queue holds whatever the latency, where
// Settings leave it to the queue.
const leastBuffer = 10000

// Push appends items of a call, in order, and says how many it has taken: as many
// as there is room for. An empty queue has room for any record. Records of a
// withdrawn call, or behind one that failed in a call that holds its keys, stay
// with the caller.
func (q *Queue) Push(items []Item, now time.Time) (taken int) {
	if len(items) == 0 || items[0].Call.withdrawn {
		return len(items)
	}
	call, at := items[0].Call, now.UnixNano()
	kind := call.kind()
	room := q.room(kind)
	before, records, bytes := q.Held(), 0, 0
	for i := range items {
		it := &items[i]
		it.size = int32(it.Size())
		if !room.take(int(it.size)) && (i > 0 || before > 0) {
			break
		}
		taken++
		q.pushed = max(q.pushed+1, at)
		it.pushed = q.pushed
		isHead := true
		if kind == keyed {
			number, isNew := q.keysOf(call).of(it.Key)
			if call.keys.queues[number-1].held {
				continue
			}
			it.keyQueue, isHead = number, isNew
		}
		records, bytes = records+1, bytes+int(it.size)
		if isHead {
			q.place(it, kind)
			continue
		}
		call.keys.join(it.keyQueue, it)
		q.behind++
	}
	call.open += records
	q.held.add(kind, records, bytes)
	return taken
}

// place puts an item at the end of its row.
func (q *Queue) place(it *Item, kind int) {
	it.shard = q.places.find(q.smap, it.Record)
	q.rows[int(it.shard)*kinds+kind].pushBack(it, &q.segments)
	q.waiting++
}

// Flush lets all that waits now go without lingering.
func (q *Queue) Flush() { q.flushed = q.pushed }

// leave ends what the queue counts of n records of a call.
func (q *Queue) leave(c *Call, n, bytes int) {
	q.held.add(c.kind(), -n, -bytes)
	if q.Held() == 0 {
		q.segments.trim()
	}
	if c.open -= n; c.open == 0 && c.keys != nil && c.keys.fits() {
		q.spareKeys = append(q.spareKeys, c.keys)
		c.keys = nil
	}
}

// keysOf are the key queues of a call.
func (q *Queue) keysOf(c *Call) *keyQueues {
	if c.keys != nil {
		return c.keys
	}
	if n := len(q.spareKeys); n > 0 {
		c.keys = q.spareKeys[n-1]
		q.spareKeys = q.spareKeys[:n-1]
	} else {
		c.keys = newKeyQueues()
	}
	return c.keys
}

// Withdraw takes back what waits of a call: it is not sent any more. What is in
// flight still comes to its end, and so do records that met a resharding.
func (q *Queue) Withdraw(c *Call) {
	if c.withdrawn {
		return
	}
	c.withdrawn = true
	if keys := c.keys; keys != nil {
		for n := range keys.queues {
			keys.cut(int32(n+1), q.dropBehind)
		}
	}
	q.sweep(func(it *Item) bool { return it.Call == c })
}

// dropBehind ends an item that was behind another of its key.
func (q *Queue) dropBehind(it *Item) {
	q.behind--
	q.leave(it.Call, 1, int(it.size))
}

// sweep takes the items that are gone out of the rows.
func (q *Queue) sweep(gone func(it *Item) bool) {
	for i := range q.rows {
		r := &q.rows[i]
		found := false
		r.each(func(it *Item) bool {
			found = gone(it)
			return !found
		})
		if !found {
			continue
		}
		for _, it := range r.take(nil, r.count, &q.segments) {
			if !gone(&it) {
				r.pushBack(&it, &q.segments)
				continue
			}
			q.waiting--
			q.leave(it.Call, 1, int(it.size))
		}
	}
}

// SetShards puts a new map in force as soon as nothing is in flight.
func (q *Queue) SetShards(m ShardMap, now time.Time) {
	q.pending = m
	if q.inFlight == 0 {
		q.install(m, now.UnixNano())
	}
}

// install puts a map in force and sorts what waits into its shards' rows again, in
// the order in which it came.
func (q *Queue) install(m ShardMap, now int64) {
	q.pending = nil
	if q.smap.Same(m) {
		return
	}
	waiting := make([]Item, 0, q.waiting)
	for i := range q.rows {
		waiting = q.rows[i].take(waiting, q.rows[i].count, &q.segments)
	}
	slices.SortFunc(waiting, func(a, b Item) int { return cmp.Compare(a.pushed, b.pushed) })
	old := map[string]*shard{}
	for i := range q.shards {
		old[q.shards[i].ID] = &q.shards[i]
	}
	shards := make([]shard, len(m))
	for i := range m {
		shards[i] = shard{Shard: m[i], bucket: newBucket(q.set.Shard, now)}
		if was := old[m[i].ID]; was != nil && m[i].ID != "" {
			shards[i].bucket, shards[i].until, shards[i].errors = was.bucket, was.until, was.errors
		}
	}
	q.shards, q.rows, q.turn, q.waiting = shards, make([]row, len(m)*kinds), 0, 0
	q.smap, q.places, q.named, q.stale = m, newPlaces(), m[0].ID != "", false
	for i := range waiting {
		q.place(&waiting[i], waiting[i].Call.kind())
	}
	q.replaceMisplaced()
}

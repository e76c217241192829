package recordbatch

import (
	"slices"
	"time"
)

// Settings are what a Queue works by.
type Settings struct {
	Limits
	// FlushInterval is how long a record waits for company; zero: it waits
	// until a batch is full or somebody calls Flush.
	FlushInterval time.Duration
	// MaxInFlight bounds the requests that are out at once.
	MaxInFlight int
	// BufferRecords is what the caller lets wait at most; the queue uses it to
	// see how many full batches can be under way side by side.
	BufferRecords int
	// Shard is the pace of each shard.
	Shard Pace
	// Backoff is how long to wait after n failures in a row, n from 1.
	Backoff func(n int) time.Duration
}

// shard is what the queue knows of an open shard.
type shard struct {
	Shard
	bucket    bucket
	lane      int
	until     int64 // backs off until then
	errors    int
	escalated int64
	parked    [kinds]deque
}

// lane is a row of records. The plain lanes divide the shards among them and
// have one request outside at a time; the last lane is for keyed records, whose
// order their keys keep.
type lane struct {
	kind   int
	fifo   deque
	prompt int     // how many in fifo need not wait for company
	parked []int32 // shards that have records parked
	out    int     // requests outside
}

func (l *lane) exclusive() bool { return l.kind == plain }

// Queue is all that waits for one stream. It is not safe for concurrent use.
type Queue struct {
	set     Settings
	shards  []shard
	smap    ShardMap
	tails   []string // of smap
	places  places   // in smap
	pending ShardMap
	lanes   []lane
	turn    int

	waiting      int
	waitingBytes int
	chained      int
	inFlight     int
	outside      int // records in flight, and their bytes
	outsideBytes int
	seq          uint64
	flushed      uint64

	until     int64
	errors    int
	escalated int64
	cut       int // bound on a request's records after one was refused, or 0

	spare []*Request
}

// NewQueue makes an empty queue for a stream of these shards.
func NewQueue(set Settings, shards ShardMap, now time.Time) *Queue {
	q := &Queue{set: set}
	q.install(shards, now.UnixNano())
	return q
}

// Waiting is how many records wait to be sent or repeated; Bytes is their size.
func (q *Queue) Waiting() int { return q.waiting + q.chained }

// Bytes is the size of what waits.
func (q *Queue) Bytes() int { return q.waitingBytes }

// Held is how many records wait or are in flight; HeldBytes is their size.
func (q *Queue) Held() int { return q.waiting + q.chained + q.outside }

// HeldBytes is the size of what waits or is in flight.
func (q *Queue) HeldBytes() int { return q.waitingBytes + q.outsideBytes }

// InFlight is how many requests are out.
func (q *Queue) InFlight() int { return q.inFlight }

// Shards is the map in force.
func (q *Queue) Shards() ShardMap { return q.smap }

// Push appends items in order. Records of a withdrawn call, or behind one that
// failed in a call that holds its keys, stay with the caller.
func (q *Queue) Push(items []Item, now time.Time) {
	at := now.UnixNano()
	for i := range items {
		it := &items[i]
		if it.Call.withdrawn {
			continue
		}
		q.seq++
		it.seq, it.at, it.size = q.seq, at, it.Size()
		q.admit(it)
	}
}

// admit puts a new item where it waits.
func (q *Queue) admit(it *Item) {
	outside := true
	if it.Call.Keyed {
		line := it.Call.lineOf(it)
		if line.held {
			return
		}
		outside = line.join(it)
	}
	it.Call.open++
	q.waitingBytes += it.size
	if outside {
		q.place(it)
		return
	}
	q.chained++
}

// laneOf is where an item waits once its shard is known.
func (q *Queue) laneOf(it *Item) *lane {
	if it.Call.Keyed {
		return &q.lanes[len(q.lanes)-1]
	}
	return &q.lanes[q.shards[it.shard].lane]
}

// place puts an item at the end of its lane.
func (q *Queue) place(it *Item) {
	it.shard = q.places.find(q.smap, &it.Record)
	l := q.laneOf(it)
	l.fifo.pushBack(it)
	q.waiting++
	if it.prompt {
		l.prompt++
	}
}

// Flush lets all that waits now go without waiting for company.
func (q *Queue) Flush() { q.flushed = q.seq }

// Withdraw takes back what waits of a call: it is not sent any more. What is
// in flight still comes to its end.
func (q *Queue) Withdraw(c *Call) {
	if c.withdrawn {
		return
	}
	c.withdrawn = true
	for _, line := range c.keys {
		if line.head != nil {
			q.cutBehind(line)
		}
	}
	for i := range q.lanes {
		l := &q.lanes[i]
		q.sweep(l, &l.fifo, true)
		kept := l.parked[:0]
		for _, s := range l.parked {
			d := &q.shards[s].parked[l.kind]
			q.sweep(l, d, false)
			if d.count > 0 {
				kept = append(kept, s)
			}
		}
		l.parked = kept
	}
}

// sweep removes the records of withdrawn calls.
func (q *Queue) sweep(l *lane, d *deque, fifo bool) {
	for range d.count {
		it := d.popFront()
		if !it.Call.withdrawn {
			d.pushBack(it)
			continue
		}
		if fifo && it.prompt {
			l.prompt--
		}
		q.waiting--
		q.waitingBytes -= it.size
		it.Call.open--
	}
}

// SetShards puts a new map in force as soon as nothing is in flight.
func (q *Queue) SetShards(m ShardMap, now time.Time) {
	if q.smap.Same(m) {
		q.pending = nil
		return
	}
	if q.inFlight > 0 {
		q.pending = m
		return
	}
	q.install(m, now.UnixNano())
}

// install builds shards and lanes and sorts what waits into them again, in
// the order in which it came.
func (q *Queue) install(m ShardMap, now int64) {
	waiting := q.takeAll()
	old := map[string]*shard{}
	for i := range q.shards {
		old[q.shards[i].ID] = &q.shards[i]
	}
	q.pending, q.smap, q.tails, q.places = nil, m, tails(m), newPlaces()
	lanes := max(1, min(q.set.MaxInFlight, len(m), q.set.BufferRecords/(2*q.set.Records)))
	q.lanes = make([]lane, lanes+1)
	q.lanes[lanes].kind = keyed
	shards := make([]shard, len(m))
	for i := range m {
		shards[i] = shard{Shard: m[i], lane: i % lanes, bucket: newBucket(q.set.Shard, now)}
		if was := old[m[i].ID]; was != nil && m[i].ID != "" {
			shards[i].bucket, shards[i].until, shards[i].errors = was.bucket, was.until, was.errors
		}
	}
	q.shards, q.turn, q.waiting = shards, 0, 0
	for _, it := range waiting {
		q.replace(it)
	}
}

// replace puts an item, or the parts of an aggregate that no longer belongs to
// one shard, in its new lane.
func (q *Queue) replace(it *Item) {
	if len(it.Parts()) == 0 || q.oneShard(it) {
		q.place(it)
		return
	}
	q.split(it)
}

// takeAll empties lanes and parking.
func (q *Queue) takeAll() []*Item {
	all := make([]*Item, 0, q.waiting)
	for i := range q.lanes {
		l := &q.lanes[i]
		for l.fifo.count > 0 {
			all = append(all, l.fifo.popFront())
		}
		for _, s := range l.parked {
			d := &q.shards[s].parked[l.kind]
			for d.count > 0 {
				all = append(all, d.popFront())
			}
		}
	}
	slices.SortFunc(all, func(a, b *Item) int {
		if a.seq < b.seq {
			return -1
		}
		return 1
	})
	return all
}

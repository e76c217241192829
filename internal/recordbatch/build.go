package recordbatch

import (
	"math"
	"time"
)

// A Request is one PutRecords to be sent. The caller fills Verdicts, one an
// item, and hands it back to Done.
type Request struct {
	Items []*Item
	// Bytes is what the service counts: data and keys.
	Bytes int
	// Verdicts is as long as Items.
	Verdicts []Verdict
	// Ends is filled by Done: what became of each item.
	Ends []End
	// Moved is set by Done when a record lies in another shard than the map has
	// it: the stream was resharded.
	Moved bool

	smap   ShardMap
	tails  []string // of smap
	lanes  []int
	sentAt int64

	touched byte // keeps the loads of bodySize
}

// Next is the next request to send, if one is due; else the instant at which
// to ask again, zero for not before something changes.
func (q *Queue) Next(now time.Time) (*Request, time.Time) {
	t := now.UnixNano()
	if q.pending != nil {
		if q.inFlight > 0 {
			return nil, time.Time{}
		}
		q.install(q.pending, t)
	}
	if q.waiting == 0 || q.inFlight >= q.set.MaxInFlight {
		return nil, time.Time{}
	}
	if t < q.until {
		return nil, time.Unix(0, q.until)
	}
	wake := int64(math.MaxInt64)
	due := -1
	for n := range q.lanes {
		i := (q.turn + n) % len(q.lanes)
		l := &q.lanes[i]
		if l.exclusive() && l.out > 0 {
			continue
		}
		full, at := q.look(l, t)
		if full {
			due = i
			break
		}
		wake = min(wake, at)
		if at <= t && due < 0 {
			due = i
		}
	}
	if due < 0 {
		if wake == math.MaxInt64 {
			return nil, time.Time{}
		}
		return nil, time.Unix(0, wake)
	}
	q.turn = due + 1
	if r := q.build(due, t); r != nil {
		return r, time.Time{}
	}
	// All that was due had to be parked; the next look knows until when.
	return q.Next(now)
}

// look says whether a lane has a full request for now, and else when it
// becomes due.
func (q *Queue) look(l *lane, t int64) (full bool, at int64) {
	records, bytes := l.fifo.count, l.fifo.bytes
	at = math.MaxInt64
	for _, s := range l.parked {
		sh := &q.shards[s]
		d := &sh.parked[l.kind]
		ready := q.readyAt(sh, d, t)
		if ready <= t {
			records += d.count
			bytes += d.bytes
		}
		at = min(at, ready)
	}
	if l.prompt > 0 {
		at = t
	} else if l.fifo.count > 0 {
		at = min(at, q.dueAt(l.fifo.front()))
	}
	full = records >= q.maxRecords() || bytes >= q.set.RequestBytes
	if !l.exclusive() && !full && l.out >= 2 {
		// Small keyed requests would split up ever further.
		at = math.MaxInt64
	}
	return full, at
}

// dueAt is when an item has waited long enough for company.
func (q *Queue) dueAt(it *Item) int64 {
	switch {
	case it.seq <= q.flushed:
		return 0
	case q.set.FlushInterval == 0:
		return math.MaxInt64
	}
	return it.at + int64(q.set.FlushInterval)
}

// readyAt is when what a shard has parked may go.
func (q *Queue) readyAt(s *shard, d *deque, t int64) int64 {
	if s.until > t {
		return s.until
	}
	s.bucket.refill(q.set.Shard, t)
	return t + int64(s.bucket.wait(q.set.Shard, d.count, d.bytes, d.front().size))
}

func (q *Queue) maxRecords() int {
	if q.cut > 0 {
		return min(q.cut, q.set.Records)
	}
	return q.set.Records
}

// build fills a request from the lane that is due, then, while there is room,
// from the other free ones.
func (q *Queue) build(first int, t int64) *Request {
	r := q.fresh()
	for n := range q.lanes {
		i := (first + n) % len(q.lanes)
		l := &q.lanes[i]
		if n > 0 && l.out > 0 {
			continue
		}
		before := len(r.Items)
		room := q.fill(r, l, t)
		if len(r.Items) > before {
			l.out++
			r.lanes = append(r.lanes, i)
		}
		if !room {
			break
		}
	}
	if len(r.Items) == 0 {
		q.spare = append(q.spare, r)
		return nil
	}
	r.sentAt, r.smap, r.tails = t, q.smap, q.tails
	q.inFlight++
	q.outside += len(r.Items)
	q.outsideBytes += r.Bytes
	return r
}

// fill takes from a lane all that may go now and has room; it says whether
// room is left.
func (q *Queue) fill(r *Request, l *lane, t int64) bool {
	kept := l.parked[:0]
	room := true
	for n, s := range l.parked {
		sh := &q.shards[s]
		d := &sh.parked[l.kind]
		if room && q.readyAt(sh, d, t) <= t {
			for d.count > 0 {
				if room = q.fits(r, d.front()); !room || !sh.bucket.take(q.set.Shard, d.front().size) {
					break
				}
				q.put(r, d.popFront())
			}
		}
		if d.count > 0 {
			kept = append(kept, l.parked[n])
		}
	}
	l.parked = kept
	for room && l.fifo.count > 0 {
		it := l.fifo.front()
		sh := &q.shards[it.shard]
		sh.bucket.refill(q.set.Shard, t)
		if d := &sh.parked[l.kind]; d.count > 0 || sh.until > t || sh.bucket.short(q.set.Shard, it.size) {
			q.park(l, l.pop(), false)
			continue
		}
		if room = q.fits(r, it); room {
			sh.bucket.take(q.set.Shard, it.size)
			q.put(r, l.pop())
		}
	}
	return room
}

// pop takes the first of a lane's row.
func (l *lane) pop() *Item {
	it := l.fifo.popFront()
	if it.prompt {
		l.prompt--
	}
	return it
}

func (q *Queue) fits(r *Request, it *Item) bool {
	return len(r.Items) < q.maxRecords() && (len(r.Items) == 0 || r.Bytes+it.size <= q.set.RequestBytes)
}

func (q *Queue) put(r *Request, it *Item) {
	r.Items = append(r.Items, it)
	r.Bytes += it.size
	q.waiting--
	q.waitingBytes -= it.size
}

// park sets an item aside until its shard may be written to.
func (q *Queue) park(l *lane, it *Item, front bool) {
	d := &q.shards[it.shard].parked[l.kind]
	if d.count == 0 {
		l.parked = append(l.parked, it.shard)
	}
	if front {
		d.pushFront(it)
		return
	}
	d.pushBack(it)
}

// fresh is an empty request, used again where one is spare.
func (q *Queue) fresh() *Request {
	if n := len(q.spare); n > 0 {
		r := q.spare[n-1]
		q.spare = q.spare[:n-1]
		return r
	}
	return &Request{Items: make([]*Item, 0, q.set.Records), Verdicts: make([]Verdict, 0, q.set.Records)}
}

// Release gives a request back once its ends are dealt with.
func (q *Queue) Release(r *Request) {
	clear(r.Items)
	clear(r.Verdicts)
	r.Items, r.Verdicts, r.Ends, r.lanes, r.Bytes = r.Items[:0], r.Verdicts[:0], r.Ends[:0], r.lanes[:0], 0
	r.Moved, r.smap, r.tails = false, nil, nil
	if len(q.spare) < q.set.MaxInFlight {
		q.spare = append(q.spare, r)
	}
}

// ShardOf is the position of an item's shard in the map that the request was
// made by, and the map.
func (r *Request) ShardOf(i int) (int, ShardMap) { return int(r.Items[i].shard), r.smap }

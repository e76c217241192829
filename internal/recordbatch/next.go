package recordbatch

import (
	"math"
	"time"
)

const (
	// mostPartial is how many requests that are not full may be in flight before
	// what lingers for an answer goes. Small requests would split up ever further.
	mostPartial = 2
	// sentMost bounds the bytes in flight, whose bodies take memory too, where several
	// requests are. Another one is made if it may have a good part of it.
	sentMost = 8 << 20
	sentMore = 1 << 20
)

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
	if q.waiting == 0 || q.inFlight >= q.connections.limit() || q.sentBytes > sentMost-sentMore {
		return nil, time.Time{}
	}
	if t < q.until {
		return nil, time.Unix(0, q.until)
	}
	s := q.survey(t)
	switch {
	case s.full(q) || s.due <= t:
		return q.build(&s, t), time.Time{}
	case min(s.due, s.wake) == math.MaxInt64:
		return nil, time.Time{}
	}
	return nil, time.Unix(0, min(s.due, s.wake))
}

// survey is what there is to send at an instant.
type survey struct {
	first           int // row in turn, or -1
	records, bytes  int // that go singly
	aggregatedBytes int
	due             int64 // when a row has lingered enough
	dueRow          int
	wake            int64 // when a row that is not ready may be
}

// full says that what is ready fills a request.
func (s *survey) full(q *Queue) bool {
	return s.records >= q.maxRecords() || s.bytes >= q.requestBytes() || s.aggregatedBytes >= q.aggregateBytes()
}

// survey looks at all rows, in turn.
func (q *Queue) survey(t int64) survey {
	s := survey{first: -1, due: math.MaxInt64, wake: math.MaxInt64}
	at := q.turn
	for range q.rows {
		if at >= len(q.rows) {
			at = 0
		}
		if r := &q.rows[at]; r.count > 0 && !r.muted {
			q.surveyRow(&s, at, t)
		}
		at++
	}
	return s
}

func (q *Queue) surveyRow(s *survey, at int, t int64) {
	r, kind := &q.rows[at], at%kinds
	if ready := q.readyAt(&q.shards[at/kinds], r, t); ready > t {
		s.wake = min(s.wake, ready)
		return
	}
	if s.first < 0 {
		s.first = at
	}
	if kind >= aggregates {
		s.aggregatedBytes += r.bytes
	} else {
		s.records += r.count
		s.bytes += r.bytes
	}
	if due := q.dueAt(r, kind, t); due < s.due {
		s.due, s.dueRow = due, at
	}
}

// dueAt is when a row that is ready has lingered enough.
func (q *Queue) dueAt(r *row, kind int, t int64) int64 {
	front := r.front()
	crowded := q.partial >= mostPartial
	switch {
	case kind == keyed && crowded:
		return math.MaxInt64
	case r.prompt > 0 || front.pushed <= q.flushed:
		return t
	case q.set.FlushInterval == 0:
		return math.MaxInt64
	}
	linger := q.set.FlushInterval
	if t < q.busyUntil && !crowded {
		linger = min(linger, q.connections.linger())
	}
	return front.pushed + int64(linger)
}

// readyAt is when what a shard has waiting may go.
func (q *Queue) readyAt(s *shard, r *row, t int64) int64 {
	if s.until > t {
		return s.until
	}
	if q.set.Shard == (Pace{}) {
		return t
	}
	s.bucket.refill(q.set.Shard, t)
	return t + int64(s.bucket.wait(q.set.Shard, r.count, r.bytes, int(r.front().size)))
}

// requestBytes bounds the next request.
func (q *Queue) requestBytes() int {
	if q.inFlight == 0 {
		return q.set.RequestBytes
	}
	return min(q.set.RequestBytes, sentMost-q.sentBytes)
}

func (q *Queue) maxRecords() int {
	if q.cut > 0 {
		return min(q.cut, q.set.Records)
	}
	return q.set.Records
}

// build fills a request from the row that is due, then, while there is room, from
// the others that are ready.
func (q *Queue) build(s *survey, t int64) *Request {
	r := q.fresh()
	at, full := s.first, s.full(q)
	if !full {
		at = s.dueRow
	}
	for range q.rows {
		if at >= len(q.rows) {
			at = 0
		}
		if row := &q.rows[at]; row.count > 0 && !row.muted && q.readyAt(&q.shards[at/kinds], row, t) <= t {
			before := len(r.Items)
			room := q.fill(r, at)
			if len(r.Items) > before {
				r.rows = append(r.rows, int32(at))
				row.muted = at%kinds != keyed
			}
			if !room {
				break
			}
		}
		at++
	}
	q.turn = at + 1
	r.sentAt, r.smap = t, q.smap
	if r.partial = !full; r.partial {
		q.partial++
	} else {
		q.busyUntil = t + int64(q.set.FlushInterval)
	}
	q.inFlight++
	q.waiting -= len(r.Items)
	q.sent += len(r.Items)
	q.sentBytes += r.Bytes
	return r
}

// fill takes from a row all that may go now and has room; it says whether room is
// left.
func (q *Queue) fill(r *Request, at int) bool {
	if at%kinds >= aggregates {
		return q.fillAggregates(r, at)
	}
	row, b := &q.rows[at], &q.shards[at/kinds].bucket
	n := min(row.count, q.maxRecords()-r.Records())
	if n == row.count && r.Bytes+row.bytes <= q.requestBytes() && b.takeAll(q.set.Shard, n, row.bytes) {
		r.Bytes += row.bytes
		q.move(r, row, n)
		return r.Records() < q.maxRecords()
	}
	taken, room := 0, true
	row.each(func(it *Item) bool {
		size := int(it.size)
		if room = taken < n && (r.Bytes == 0 || r.Bytes+size <= q.requestBytes()); !room || !b.take(q.set.Shard, size) {
			return false
		}
		r.Bytes += size
		taken++
		return true
	})
	q.move(r, row, taken)
	return room && r.Records() < q.maxRecords()
}

// move takes n items of a row into a request, each a record by itself.
func (q *Queue) move(r *Request, row *row, n int) {
	if r.groups != nil {
		for range n {
			r.groups = append(r.groups, 1)
		}
	}
	r.Items = row.take(r.Items, n, &q.segments)
}

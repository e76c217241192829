package recordbatch

// A row is what waits of one kind for one shard, in order.
//
// Of a plain row and of both kinds of aggregates one request is in flight at a
// time, so that nothing overtakes. A keyed row has at most one record of each key:
// their order is kept by their key queues, and several requests may be in flight.
type row struct {
	head, tail *segment
	count      int
	bytes      int
	prompt     int // how many need not linger
	muted      bool
}

// segmentItems is how many items lie side by side.
const segmentItems = 32

type segment struct {
	items    [segmentItems]Item
	from, to int // items[from:to] are in use
	next     *segment
}

// segments are those that are free, to be used again by any row: what a row took
// when its shard was slow is not kept for it.
type segments struct {
	free  *segment
	count int
}

// freeSegments is how many are kept at most, and idleSegments while nothing waits.
const (
	freeSegments = 1024
	idleSegments = 32
)

// trim lets most of the memory go.
func (s *segments) trim() {
	for ; s.count > idleSegments; s.count-- {
		s.free = s.free.next
	}
}

func (s *segments) get() *segment {
	if s.free == nil {
		return &segment{}
	}
	one := s.free
	s.free, one.next = one.next, nil
	s.count--
	return one
}

func (s *segments) put(one *segment) {
	if s.count >= freeSegments {
		return
	}
	one.from, one.to, one.next = 0, 0, s.free
	s.free = one
	s.count++
}

func (r *row) front() *Item { return &r.head.items[r.head.from] }

// add counts an item that is put in.
func (r *row) add(it *Item) {
	r.count++
	r.bytes += int(it.size)
	if it.prompt {
		r.prompt++
	}
}

func (r *row) pushBack(it *Item, s *segments) {
	if r.tail == nil || r.tail.to == segmentItems {
		one := s.get()
		if r.tail == nil {
			r.head = one
		} else {
			r.tail.next = one
		}
		r.tail = one
	}
	r.tail.items[r.tail.to] = *it
	r.tail.to++
	r.add(it)
}

func (r *row) pushFront(it *Item, s *segments) {
	if r.head == nil || r.head.from == 0 {
		one := s.get()
		one.from, one.to, one.next = segmentItems, segmentItems, r.head
		if r.head == nil {
			r.tail = one
		}
		r.head = one
	}
	r.head.from--
	r.head.items[r.head.from] = *it
	r.add(it)
}

// take moves the first n items to dst.
func (r *row) take(dst []Item, n int, s *segments) []Item {
	for n > 0 {
		one := r.head
		some := one.items[one.from:min(one.to, one.from+n)]
		for i := range some {
			r.bytes -= int(some[i].size)
			if some[i].prompt {
				r.prompt--
			}
		}
		dst = append(dst, some...)
		clear(some) // nothing keeps the records' memory
		n -= len(some)
		r.count -= len(some)
		if one.from += len(some); one.from == one.to {
			if r.head = one.next; r.head == nil {
				r.tail = nil
			}
			s.put(one)
		}
	}
	return dst
}

// each calls visit for the items in order until it says no.
func (r *row) each(visit func(it *Item) bool) {
	for one := r.head; one != nil; one = one.next {
		for i := one.from; i < one.to; i++ {
			if !visit(&one.items[i]) {
				return
			}
		}
	}
}

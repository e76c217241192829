package recordbatch

// deque is a ring of items that also knows their bytes.
type deque struct {
	ring  []*Item
	head  int
	count int
	bytes int
}

func (d *deque) front() *Item { return d.ring[d.head] }

func (d *deque) pushBack(it *Item) {
	d.room()
	d.ring[(d.head+d.count)&(len(d.ring)-1)] = it
	d.count++
	d.bytes += it.size
}

func (d *deque) pushFront(it *Item) {
	d.room()
	d.head = (d.head - 1) & (len(d.ring) - 1)
	d.ring[d.head] = it
	d.count++
	d.bytes += it.size
}

func (d *deque) popFront() *Item {
	it := d.ring[d.head]
	d.ring[d.head] = nil
	d.head = (d.head + 1) & (len(d.ring) - 1)
	d.count--
	d.bytes -= it.size
	return it
}

// room doubles the ring when it is full; its length stays a power of two.
func (d *deque) room() {
	if d.count < len(d.ring) {
		return
	}
	grown := make([]*Item, max(16, 2*len(d.ring)))
	n := copy(grown, d.ring[d.head:])
	copy(grown[n:], d.ring[:d.head])
	d.ring, d.head = grown, 0
}

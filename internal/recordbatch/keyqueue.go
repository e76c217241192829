package recordbatch

import "hash/maphash"

// keyQueues are the queues of a keyed call, one a key. The head of each is in a
// row or in flight; what is behind it waits here. They hold no pointers to one
// another and are used again by later calls, so that a key costs no allocation.
type keyQueues struct {
	seed    maphash.Seed
	buckets []int32 // by hash: number of the first queue, from 1
	queues  []keyQueue
	free    int32 // queues to use again, by their next
	count   int   // queues in use

	behind     []behind
	freeBehind int32
}

// keyQueue is the queue of one key.
type keyQueue struct {
	key         string
	hash        uint64
	next        int32 // in its bucket
	first, last int32 // behind the head; numbers from 1
	held        bool  // a record has failed: the others of the key stay back
}

// behind is an item that waits behind another of its key.
type behind struct {
	Item
	next int32
}

const leastBuckets = 64

func newKeyQueues() *keyQueues {
	return &keyQueues{seed: maphash.MakeSeed(), buckets: make([]int32, leastBuckets)}
}

// of is the queue of a key. It is new, and its item the head, where isNew.
func (k *keyQueues) of(key string) (number int32, isNew bool) {
	hash := maphash.String(k.seed, key)
	bucket := &k.buckets[hash&uint64(len(k.buckets)-1)]
	for n := *bucket; n != 0; n = k.queues[n-1].next {
		if q := &k.queues[n-1]; q.hash == hash && q.key == key {
			return n, false
		}
	}
	if k.count >= len(k.buckets) {
		k.grow()
		bucket = &k.buckets[hash&uint64(len(k.buckets)-1)]
	}
	n := k.free
	if n == 0 {
		k.queues = append(k.queues, keyQueue{})
		n = int32(len(k.queues))
	} else {
		k.free = k.queues[n-1].next
	}
	k.queues[n-1] = keyQueue{key: key, hash: hash, next: *bucket}
	*bucket = n
	k.count++
	return n, true
}

// grow doubles the buckets.
func (k *keyQueues) grow() {
	was := k.buckets
	k.buckets = make([]int32, 2*len(was))
	for _, n := range was {
		for n != 0 {
			q := &k.queues[n-1]
			next, bucket := q.next, &k.buckets[q.hash&uint64(len(k.buckets)-1)]
			q.next, *bucket = *bucket, n
			n = next
		}
	}
}

// join puts an item at the end of a queue, behind its head.
func (k *keyQueues) join(number int32, it *Item) {
	n := k.freeBehind
	if n == 0 {
		k.behind = append(k.behind, behind{})
		n = int32(len(k.behind))
	} else {
		k.freeBehind = k.behind[n-1].next
	}
	k.behind[n-1] = behind{Item: *it}
	q := &k.queues[number-1]
	if q.last == 0 {
		q.first = n
	} else {
		k.behind[q.last-1].next = n
	}
	q.last = n
}

// shift takes the first of a queue, whose head has come to its end. An empty queue
// is removed, unless it is held.
func (k *keyQueues) shift(number int32) (next Item, ok bool) {
	q := &k.queues[number-1]
	n := q.first
	if n == 0 {
		if !q.held {
			k.remove(number)
		}
		return next, false
	}
	b := &k.behind[n-1]
	next = b.Item
	if q.first = b.next; q.first == 0 {
		q.last = 0
	}
	*b = behind{next: k.freeBehind}
	k.freeBehind = n
	return next, true
}

func (k *keyQueues) remove(number int32) {
	q := &k.queues[number-1]
	at := &k.buckets[q.hash&uint64(len(k.buckets)-1)]
	for *at != number {
		at = &k.queues[*at-1].next
	}
	*at = q.next
	*q = keyQueue{next: k.free}
	k.free = number
	k.count--
}

// cut drops what is behind the head of a queue, each to drop.
func (k *keyQueues) cut(number int32, drop func(it *Item)) {
	for k.queues[number-1].first != 0 {
		it, _ := k.shift(number)
		drop(&it)
	}
}

// fits says that the memory is not too much to be kept for another call.
func (k *keyQueues) fits() bool {
	return k.count == 0 && len(k.queues) <= 1<<12 && len(k.behind) <= 1<<12
}

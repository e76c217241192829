package throughput

import (
	"container/heap"
	"iter"
	"time"
)

// Priorities is the number of priority classes; Temporal's 1 (highest) to 5.
const Priorities = 5

// DefaultPriority is Temporal's for who names none.
const DefaultPriority = 3

// Class is the index of a priority among the classes; what is out of range is
// taken as the nearest, 0 as the default.
func Class(priority int) int {
	if priority == 0 {
		priority = DefaultPriority
	}
	return min(max(priority, 1), Priorities) - 1
}

// An Entry is a call that waits in a Queue.
type Entry[T any] struct {
	Value   T
	Class   int
	Arrived time.Time // when it first asked; kept when it is put back
	Seq     uint64    // the order among equal arrivals; unique
	Cost    Milli
	index   int // in its class's heap, from 1; 0 when it does not wait
}

// Before is the order in a class: first arrival, then Seq, so that equal instants
// keep a stable order.
func (e *Entry[T]) Before(o *Entry[T]) bool {
	if !e.Arrived.Equal(o.Arrived) {
		return e.Arrived.Before(o.Arrived)
	}
	return e.Seq < o.Seq
}

// A Queue holds waiting calls by class, and within one by first arrival. The zero
// value is empty.
type Queue[T any] struct {
	classes [Priorities]entries[T]
	cost    [Priorities]Milli
}

// Push puts an entry in; one that was taken out before goes back to its place.
func (q *Queue[T]) Push(e *Entry[T]) {
	q.cost[e.Class] += e.Cost
	heap.Push(&q.classes[e.Class], e)
}

// Head is the first entry of a class, or nil.
func (q *Queue[T]) Head(class int) *Entry[T] {
	if len(q.classes[class]) == 0 {
		return nil
	}
	return q.classes[class][0]
}

// Remove takes an entry out; it reports whether it was in.
func (q *Queue[T]) Remove(e *Entry[T]) bool {
	c := q.classes[e.Class]
	if e.index < 1 || e.index > len(c) || c[e.index-1] != e {
		return false
	}
	heap.Remove(&q.classes[e.Class], e.index-1)
	q.cost[e.Class] -= e.Cost
	return true
}

// Len is the number of waiting entries.
func (q *Queue[T]) Len() (n int) {
	for _, c := range q.classes {
		n += len(c)
	}
	return n
}

// All are the values that wait, in no order.
func (q *Queue[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, class := range q.classes {
			for _, e := range class {
				if !yield(e.Value) {
					return
				}
			}
		}
	}
}

// Count is the number of waiting entries of a class.
func (q *Queue[T]) Count(class int) int { return len(q.classes[class]) }

// Cost is what the waiting entries of a class cost together.
func (q *Queue[T]) Cost(class int) Milli { return q.cost[class] }

// Ahead is what waits in front of a call: in the classes above its own, by class,
// and in its own of what arrived before it.
func (q *Queue[T]) Ahead(class int, arrived time.Time) (ahead [Priorities]Milli) {
	copy(ahead[:class], q.cost[:class])
	for _, e := range q.classes[class] {
		if !e.Arrived.After(arrived) {
			ahead[class] += e.Cost
		}
	}
	return ahead
}

// Oldest is the first arrival among all that wait, or the zero time.
func (q *Queue[T]) Oldest() (oldest time.Time) {
	for _, c := range q.classes {
		if len(c) > 0 && (oldest.IsZero() || c[0].Arrived.Before(oldest)) {
			oldest = c[0].Arrived
		}
	}
	return oldest
}

// entries is the heap of one class.
type entries[T any] []*Entry[T]

func (h entries[T]) Len() int           { return len(h) }
func (h entries[T]) Less(i, j int) bool { return h[i].Before(h[j]) }
func (h entries[T]) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i+1, j+1
}

func (h *entries[T]) Push(x any) {
	e, _ := x.(*Entry[T])
	*h = append(*h, e)
	e.index = len(*h)
}

func (h *entries[T]) Pop() any {
	old := *h
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	e.index = 0
	return e
}

// Turns decides which class is next, so that the higher one is served first but
// the lower ones still move: at every class a tenth is kept for those below it,
// which is the share that Shares keeps among workers. The zero value is ready.
type Turns struct {
	owed [Priorities]Milli // served by a class while a lower one waited
}

// keep is how many parts a class takes for one of the classes below it.
const keep = 9

// Next picks among the classes that wait, given what each one's first call
// costs; -1 when none waits (cost 0).
func (t *Turns) Next(first [Priorities]Milli) int {
	pick := -1
	for class := Priorities - 1; class >= 0; class-- {
		if first[class] == 0 {
			continue
		}
		if pick < 0 || t.owed[class] < keep*first[pick] {
			pick = class
		}
	}
	return pick
}

// Served records that a call of class went out at this cost while those of first
// waited.
func (t *Turns) Served(class int, cost Milli, first [Priorities]Milli) {
	below := false
	for c := class + 1; c < Priorities; c++ {
		below = below || first[c] > 0
	}
	if below {
		t.owed[class] += cost
	} else {
		t.owed[class] = 0
	}
	for c := range class {
		if first[c] > 0 {
			t.owed[c] = max(t.owed[c]-keep*cost, 0)
		}
	}
}

// Before bounds what is served before a call of class that costs cost when so much
// waits ahead of it, by class: all of it, or less where its class has its tenth
// sooner.
func Before(ahead [Priorities]Milli, class int, cost Milli) Milli {
	all, tenths := ahead[class], ahead[class]+cost
	for c := range class {
		all += ahead[c]
		if ahead[c] > 0 {
			tenths = mulDiv(tenths, keep+1, 1)
		}
	}
	return min(all, tenths)
}

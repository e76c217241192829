package jobchain

import (
	"container/heap"
	"time"
)

// item is a job that may start, at the earliest at notBefore.
type item struct {
	job       int
	priority  int
	notBefore time.Time
}

// queue holds the jobs that may start now and those that may later. It may hold
// a job twice or one that no longer may start: whoever takes one out looks at it
// again.
type queue struct {
	ready byPriority
	later byTime
}

func (q *queue) push(i item) {
	if i.notBefore.IsZero() {
		heap.Push(&q.ready, i)
		return
	}
	heap.Push(&q.later, i)
}

// pop takes the first of those that may start at now.
func (q *queue) pop(now time.Time) (item, bool) {
	for len(q.later) > 0 && !q.later[0].notBefore.After(now) {
		heap.Push(&q.ready, heap.Pop(&q.later))
	}
	if len(q.ready) == 0 {
		return item{}, false
	}
	return heap.Pop(&q.ready).(item), true
}

func (q *queue) wakeAt() time.Time {
	if len(q.later) == 0 {
		return time.Time{}
	}
	return q.later[0].notBefore
}

type byPriority []item

func (h byPriority) Len() int { return len(h) }
func (h byPriority) Less(a, b int) bool {
	if h[a].priority != h[b].priority {
		return h[a].priority < h[b].priority
	}
	return h[a].job < h[b].job
}
func (h byPriority) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *byPriority) Push(x any)   { *h = append(*h, x.(item)) }
func (h *byPriority) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

type byTime []item

func (h byTime) Len() int { return len(h) }
func (h byTime) Less(a, b int) bool {
	if !h[a].notBefore.Equal(h[b].notBefore) {
		return h[a].notBefore.Before(h[b].notBefore)
	}
	return h[a].job < h[b].job
}
func (h byTime) Swap(a, b int) { h[a], h[b] = h[b], h[a] }
func (h *byTime) Push(x any)   { *h = append(*h, x.(item)) }
func (h *byTime) Pop() any {
	last := (*h)[len(*h)-1]
	*h = (*h)[:len(*h)-1]
	return last
}

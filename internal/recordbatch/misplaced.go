package recordbatch

import (
	"slices"
	"time"
)

// CodeMoved is our code for a record that met a resharding in an aggregate.
const CodeMoved = "StreamResharded"

// misplaced are records that were stored together in another shard than the map
// had for them. Which of them belong there the next map will say; the others are
// passed over by that shard's readers, and go again.
type misplaced struct {
	items []Item
	shard string
}

func (q *Queue) misplacedItems() (n int) {
	for i := range q.misplaced {
		n += len(q.misplaced[i].items)
	}
	return n
}

// misplace keeps records until their shard is known. Where order is strict none of
// their row goes meanwhile.
func (q *Queue) misplace(items []Item, shard string) {
	q.misplaced = append(q.misplaced, misplaced{slices.Clone(items), shard})
	q.muteMisplaced(true)
}

func (q *Queue) muteMisplaced(muted bool) {
	for _, group := range q.misplaced {
		for i := range group.items {
			if it := &group.items[i]; it.Call.kind() == keyedAggregates {
				q.rows[int(it.shard)*kinds+keyedAggregates].muted = muted
			}
		}
	}
}

// replaceMisplaced finds the rows of misplaced records in a new map.
func (q *Queue) replaceMisplaced() {
	for _, group := range q.misplaced {
		for i := range group.items {
			group.items[i].shard = q.places.find(q.smap, group.items[i].Record)
		}
	}
	q.muteMisplaced(true)
}

// Located ends the doubt about records that met a resharding: m is the stream's
// map as it is now, empty where it could not be had. What lies where it belongs is
// stored, what need not be repeated is given back; both are returned in requests
// that are dealt with like those that Done has ended. The rest is repeated.
func (q *Queue) Located(m ShardMap, now time.Time) []*Request {
	q.muteMisplaced(false)
	groups := q.misplaced
	q.misplaced = nil
	var settled []*Request
	for _, group := range slices.Backward(groups) {
		r := q.fresh()
		shard := m.named(group.shard)
		// From the last to the first, so that what returns to the front keeps its order.
		for i := range slices.Backward(group.items) {
			it := &group.items[i]
			v, end := Verdict{Kind: Stored, Told: &Told{Shard: group.shard}}, EndStored
			if shard == nil || !shard.Takes(HashOf(it.Record)) {
				v = Verdict{Kind: Unconfirmed, Told: &Told{Code: CodeMoved, Message: movedMessage}}
				end = q.settle(it, &v, Answered, size{1, 1})
			}
			if end == EndAgain {
				continue
			}
			r.Items, r.Verdicts, r.ends = append(r.Items, *it), append(r.Verdicts, v), append(r.ends, end)
			q.leave(it.Call, 1, int(it.size))
		}
		if len(r.Items) == 0 {
			q.Release(r)
			continue
		}
		settled = append(settled, r)
	}
	return settled
}

const movedMessage = "the stream was resharded meanwhile"

// judgePlaces notices records that lie elsewhere than the map has them. Those of an
// aggregate that belong there all the same are stored; as long as that is not known
// they are kept, and their Ends say neither.
func (q *Queue) judgePlaces(r *Request) {
	if !q.named {
		return
	}
	r.each(func(record, from, to int) {
		v := &r.Verdicts[record]
		if v.Kind != Stored || v.Told == nil || v.Told.Shard == "" || v.Told.Shard == q.smap[r.Items[from].shard].ID {
			return
		}
		r.Moved, q.stale = true, true
		v.misplaced = to-from > 1 && !oneShard(r.Items[from:to])
	})
}

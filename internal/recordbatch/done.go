package recordbatch

import (
	"time"
)

// Kinds of verdict on one record of a request.
const (
	// Stored: the answer has its sequence number.
	Stored = iota
	// Refused: the answer has an error code of its own.
	Refused
	// Unconfirmed: the answer says nothing that could be relied on.
	Unconfirmed
)

// A Verdict is what an answer says of one record.
type Verdict struct {
	Kind int
	// Code and Message are the service's, for a refused record.
	Code, Message string
	// Shard is where it is stored.
	Shard string
}

// Kinds of outcome of a whole request.
const (
	// Answered: Verdicts hold what the answer says of each record.
	Answered = iota
	// Throttled: the service refused the call for now; nothing is stored.
	Throttled
	// Failed: the service said that it could not; nothing is stored.
	Failed
	// Lost: nobody knows what was stored.
	Lost
	// Unfit: the service refused the request's form or size, and would again.
	Unfit
	// Denied: the stream isn't there or may not be written to.
	Denied
)

// An Outcome is how a request ended; Code and Message tell it in words.
type Outcome struct {
	Kind          int
	Code, Message string
}

// An End is what became of an item of a request.
type End uint8

const (
	// EndAgain: it is repeated.
	EndAgain End = iota
	// EndStored and EndFailed are final.
	EndStored
	EndFailed
	// EndOwed: it was given back unsettled, since its call is withdrawn or denied.
	EndOwed
)

// Done takes a request's outcome. Afterwards r.Ends tells what became of each
// item, and r.Verdicts why; the caller ends with Release.
func (q *Queue) Done(r *Request, out Outcome, now time.Time) {
	t := now.UnixNano()
	q.inFlight--
	q.outside -= len(r.Items)
	q.outsideBytes -= r.Bytes
	for _, l := range r.lanes {
		q.lanes[l].out--
	}
	if cap(r.Ends) < len(r.Items) {
		r.Ends = make([]End, 0, q.set.Records)
	}
	r.Ends = r.Ends[:len(r.Items)]
	if out.Kind != Answered {
		q.spread(r, out)
	} else {
		q.compareShards(r)
	}
	q.judgeCall(r, out, t)
	q.judgeShards(r, out, t)
	// From the last to the first, so that what returns to the front keeps its order.
	for i := len(r.Items) - 1; i >= 0; i-- {
		r.Ends[i] = q.settle(r.Items[i], &r.Verdicts[i], out.Kind, len(r.Items))
		if r.Ends[i] != EndAgain {
			r.Items[i].Call.open--
		}
	}
}

// spread gives every record the outcome of its call.
func (q *Queue) spread(r *Request, out Outcome) {
	kind := Refused
	if out.Kind == Lost {
		kind = Unconfirmed
	}
	r.Verdicts = r.Verdicts[:0]
	for range r.Items {
		r.Verdicts = append(r.Verdicts, Verdict{Kind: kind, Code: out.Code, Message: out.Message})
	}
}

// compareShards notices records that lie elsewhere than the map has them. An
// aggregate among them may hold records that its new shard's readers pass over,
// so that it counts as unconfirmed, and is taken apart by the new map.
func (q *Queue) compareShards(r *Request) {
	for i := range r.Verdicts {
		v := &r.Verdicts[i]
		id := q.smap[r.Items[i].shard].ID
		if v.Kind != Stored || id == "" || v.Shard == id || v.Shard == "" {
			continue
		}
		r.Moved = true
		if len(r.Items[i].Parts()) > 0 {
			v.Kind, v.Code, v.Message = Unconfirmed, CodeMoved, "the stream was resharded meanwhile"
		}
	}
}

// judgeCall makes the whole stream back off, or go on.
func (q *Queue) judgeCall(r *Request, out Outcome, t int64) {
	switch out.Kind {
	case Throttled, Failed, Lost:
		q.backOff(r, t)
	case Answered:
		if onlyFaults(r.Verdicts) {
			q.backOff(r, t)
			return
		}
		q.errors = 0
		if q.cut > 0 {
			if q.cut *= 2; q.cut >= q.set.Records {
				q.cut = 0
			}
		}
	case Unfit:
		q.cut = max(1, (len(r.Items)+1)/2)
	}
}

// onlyFaults says that no record was stored and none was throttled: the
// service is at fault, not a shard.
func onlyFaults(verdicts []Verdict) bool {
	for i := range verdicts {
		if verdicts[i].Kind == Stored || verdicts[i].Code == CodeThrottled {
			return false
		}
	}
	return true
}

// backOff counts a failure once, however many requests were out when it came.
func (q *Queue) backOff(r *Request, t int64) {
	if r.sentAt < q.escalated {
		return
	}
	q.errors++
	q.escalated = t
	q.until = t + int64(q.set.Backoff(q.errors))
}

// CodeThrottled is the service's code for a record that its shard had no
// capacity for.
const CodeThrottled = "ProvisionedThroughputExceededException"

// CodeMoved is our code for an aggregate that met a resharding.
const CodeMoved = "StreamResharded"

// judgeShards makes each shard that refused something back off, unless the whole
// stream does.
func (q *Queue) judgeShards(r *Request, out Outcome, t int64) {
	if out.Kind != Answered || onlyFaults(r.Verdicts) {
		return
	}
	for i := range r.Verdicts {
		if r.Verdicts[i].Kind == Stored {
			q.shards[r.Items[i].shard].errors = 0
		}
	}
	for i := range r.Verdicts {
		if r.Verdicts[i].Kind == Stored {
			continue
		}
		s := &q.shards[r.Items[i].shard]
		if r.sentAt < s.escalated || s.escalated == t {
			continue
		}
		s.errors++
		s.escalated = t
		s.until = t + int64(q.set.Backoff(s.errors))
		if r.Verdicts[i].Code == CodeThrottled {
			s.bucket.refill(q.set.Shard, t)
			s.bucket.yield()
		}
	}
}

// settle decides over one item.
func (q *Queue) settle(it *Item, v *Verdict, outcome, of int) End {
	if v.Kind == Stored {
		it.Attempts++
		q.advance(it, false)
		return EndStored
	}
	if outcome == Denied {
		return EndOwed
	}
	if v.Kind == Unconfirmed {
		it.Unsure = true
	}
	unfit := outcome == Unfit
	if !unfit || of == 1 {
		it.Attempts++
	}
	if unfit && of == 1 || !unfit && int(it.Attempts) >= it.Call.MaxAttempts {
		q.advance(it, true)
		return EndFailed
	}
	if it.Call.withdrawn {
		return EndOwed
	}
	q.again(it)
	return EndAgain
}

// again puts an item back in front of all that waits for its shard.
func (q *Queue) again(it *Item) {
	it.prompt = true
	q.park(q.laneOf(it), it, true)
	q.waiting++
	q.waitingBytes += it.size
}

// advance lets the next record of a key out, once it has come to its end.
func (q *Queue) advance(it *Item, failed bool) {
	line := it.line
	if line == nil {
		return
	}
	if failed && it.Call.HoldKeys {
		q.cutBehind(line)
		line.held = true
	}
	next := it.next
	it.next, it.line = nil, nil
	line.head = next
	if next == nil {
		line.tail = nil
		if !line.held {
			delete(it.Call.keys, it.lineName())
		}
		return
	}
	q.chained--
	next.prompt = true
	q.place(next)
}

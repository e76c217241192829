package recordbatch

import (
	"slices"
	"time"
)

// A Kind is what an answer says of one record.
type Kind uint8

// Kinds of verdict on one record of a request.
const (
	// Stored: the answer has its sequence number.
	Stored Kind = iota
	// Refused: the answer has an error code of its own.
	Refused
	// Unconfirmed: the answer says nothing that could be relied on.
	Unconfirmed
)

// A Verdict is what an answer says of one record of the service's.
type Verdict struct {
	Kind Kind
	// Told is nil for a record that is stored in the shard where it was expected.
	Told *Told

	misplaced bool
}

// Told is what else an answer says of a record.
type Told struct {
	// Code and Message are the service's, for a refused record.
	Code, Message string
	// Shard is where a stored record lies.
	Shard string
}

// Code is the error code of a record that isn't stored.
func (v *Verdict) Code() string {
	if v.Told == nil {
		return ""
	}
	return v.Told.Code
}

// An OutcomeKind is how a whole request ended.
type OutcomeKind uint8

// Kinds of outcome.
const (
	// Answered: Verdicts hold what the answer says of each record.
	Answered OutcomeKind = iota
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

// An Outcome is how a request ended; Code and Message tell it in words, RequestID
// names it to the service, and Type is that of the error to end with where it was
// Denied.
type Outcome struct {
	Kind          OutcomeKind
	Code, Message string
	RequestID     string
	Type          string
}

// An End is what became of an item of a request.
type End uint8

const (
	// EndAgain: it is repeated, or not judged yet.
	EndAgain End = iota
	// EndStored and EndFailed are final.
	EndStored
	EndFailed
	// EndOwed: it was given back unsettled, since its call is withdrawn or denied.
	EndOwed
)

// Done takes a request's outcome. Afterwards EndOf tells what became of each item,
// and VerdictOf why; the caller ends with Release.
func (q *Queue) Done(r *Request, out Outcome, now time.Time) {
	t := now.UnixNano()
	q.inFlight--
	q.sent -= len(r.Items)
	q.sentBytes -= r.Bytes
	if r.partial {
		q.partial--
	}
	for _, i := range r.rows {
		q.rows[i].muted = false
	}
	if out.Kind == Answered {
		q.connections.answered(time.Duration(t-r.sentAt), t)
		if r.AllStored {
			q.doneStored(r)
			return
		}
		q.judgePlaces(r)
	} else {
		r.AllStored = false
		r.spread(out)
	}
	r.ends = slices.Grow(r.ends[:0], len(r.Items))[:len(r.Items)]
	r.indexGroups()
	q.judgeCall(r, out, t)
	q.judgeShards(r, out, t)
	q.judgeItems(r, out)
}

// doneStored ends a request all of whose records are stored where they were
// expected, which is the usual one.
func (q *Queue) doneStored(r *Request) {
	q.recover()
	for _, at := range r.rows {
		q.shards[int(at)/kinds].errors = 0
	}
	for from := 0; from < len(r.Items); {
		call, kind := r.Items[from].Call, r.Items[from].Call.kind()
		to, bytes := from, 0
		for ; to < len(r.Items) && r.Items[to].Call == call; to++ {
			it := &r.Items[to]
			it.Attempts++
			bytes += int(it.size)
			if kind == keyed {
				q.advance(it, false)
			}
		}
		q.leave(call, to-from, bytes)
		from = to
	}
}

// judgeItems decides over every item, from the last to the first, so that what
// returns to the front keeps its order.
func (q *Queue) judgeItems(r *Request, out Outcome) {
	to := len(r.Items)
	records := r.Records()
	for record := records - 1; record >= 0; record-- {
		from := to - 1
		if r.groups != nil {
			from = to - int(r.groups[record])
		}
		v := &r.Verdicts[record]
		if v.misplaced {
			q.misplaceAll(r, from, to, v.Told.Shard)
			to = from
			continue
		}
		for i := to - 1; i >= from; i-- {
			it := &r.Items[i]
			if r.ends[i] = q.settle(it, v, out.Kind, size{records, to - from}); r.ends[i] != EndAgain {
				q.leave(it.Call, 1, int(it.size))
			}
		}
		to = from
	}
}

func (q *Queue) misplaceAll(r *Request, from, to int, shard string) {
	for i := from; i < to; i++ {
		r.ends[i] = EndAgain
	}
	q.misplace(r.Items[from:to], shard)
}

// spread gives every record the outcome of its call.
func (r *Request) spread(out Outcome) {
	v := Verdict{Kind: Refused, Told: &Told{Code: out.Code, Message: out.Message}}
	if out.Kind == Lost {
		v.Kind = Unconfirmed
	}
	r.Verdicts = r.Verdicts[:0]
	for range r.Records() {
		r.Verdicts = append(r.Verdicts, v)
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
		q.recover()
	case Unfit:
		q.cut = max(1, (r.Records()+1)/2)
	}
}

// recover goes on after an answer that is not only of faults.
func (q *Queue) recover() {
	q.errors = 0
	if q.cut > 0 {
		if q.cut *= 2; q.cut >= q.set.Records {
			q.cut = 0
		}
	}
}

// onlyFaults says that no record was stored and none was throttled: the
// service is at fault, not a shard.
func onlyFaults(verdicts []Verdict) bool {
	for i := range verdicts {
		if verdicts[i].Kind == Stored || verdicts[i].Code() == CodeThrottled {
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

// judgeShards makes each shard that refused something back off, unless the whole
// stream does.
func (q *Queue) judgeShards(r *Request, out Outcome, t int64) {
	if out.Kind != Answered || onlyFaults(r.Verdicts) {
		return
	}
	r.each(func(record, from, _ int) {
		if r.Verdicts[record].Kind == Stored {
			q.shards[r.Items[from].shard].errors = 0
		}
	})
	r.each(func(record, from, _ int) {
		if v := &r.Verdicts[record]; v.Kind != Stored {
			q.backOffShard(&q.shards[r.Items[from].shard], r, v, t)
		}
	})
}

func (q *Queue) backOffShard(s *shard, r *Request, v *Verdict, t int64) {
	if r.sentAt < s.escalated || s.escalated == t {
		return
	}
	s.errors++
	s.escalated = t
	s.until = t + int64(q.set.Backoff(s.errors))
	if v.Code() == CodeThrottled {
		s.bucket.refill(q.set.Shard, t)
		s.bucket.yield()
	}
}

// size is how many records a request had, and of how many items the one in
// question was.
type size struct{ records, items int }

// settle decides over one item. What the service refuses as unfit is divided until
// it is known which record it is; only that one has failed.
func (q *Queue) settle(it *Item, v *Verdict, outcome OutcomeKind, of size) End {
	if v.Kind == Stored {
		it.Attempts++
		q.advance(it, false)
		return EndStored
	}
	if outcome == Denied {
		return EndOwed
	}
	if v.Kind == Unconfirmed {
		it.Unconfirmed = true
	}
	unfit, single := outcome == Unfit, of == size{1, 1}
	it.alone = it.alone || unfit && of.records == 1
	if !unfit || single {
		it.Attempts++
	}
	if unfit && single || !unfit && int(it.Attempts) >= it.Call.MaxAttempts {
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
	q.rows[int(it.shard)*kinds+it.Call.kind()].pushFront(it, &q.segments)
	q.waiting++
}

// advance lets the next record of a key out, once it has come to its end.
func (q *Queue) advance(it *Item, failed bool) {
	if it.keyQueue == 0 {
		return
	}
	keys := it.Call.keys
	if failed && it.Call.HoldKeys {
		keys.cut(it.keyQueue, q.dropBehind)
		keys.queues[it.keyQueue-1].held = true
	}
	next, ok := keys.shift(it.keyQueue)
	if !ok {
		return
	}
	q.behind--
	next.prompt = true
	next.keyQueue = it.keyQueue
	q.place(&next, keyed)
}

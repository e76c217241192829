package recordbatch

// A Request is one PutRecords to be sent. The caller fills Verdicts by reading the
// answer, and hands it back to Done.
type Request struct {
	// Items are the records of its callers, in order.
	Items []Item
	// Bytes is what the service counts: data and keys.
	Bytes int
	// Verdicts are what the answer says of each record of the service's; none where
	// AllStored says that all are stored in the shards where they were expected.
	Verdicts  []Verdict
	AllStored bool
	// Moved is set by Done when a record lies in another shard than the map has
	// it: the stream was resharded.
	Moved bool

	ends    []End   // of the items; none: all are stored
	groups  []int32 // how many items each of the service's records holds; none: one each
	records []int32 // by item: the number of its record; none: its own
	rows    []int32 // that it was filled from
	smap    ShardMap
	sentAt  int64
	partial bool
}

// Records is how many records the service sees.
func (r *Request) Records() int {
	if r.groups != nil {
		return len(r.groups)
	}
	return len(r.Items)
}

// group counts n items that were appended as one record of the service's.
func (r *Request) group(n int) {
	if r.groups == nil {
		if n == 1 {
			return
		}
		for range len(r.Items) - n {
			r.groups = append(r.groups, 1)
		}
	}
	r.groups = append(r.groups, int32(n))
}

// each calls visit for every record of the service's with its items: from, to.
func (r *Request) each(visit func(record, from, to int)) {
	if r.groups == nil {
		for i := range r.Items {
			visit(i, i, i+1)
		}
		return
	}
	from := 0
	for i, n := range r.groups {
		visit(i, from, from+int(n))
		from += int(n)
	}
}

// EndOf is what became of an item, once Done has ended the request.
func (r *Request) EndOf(i int) End {
	if r.AllStored {
		return EndStored
	}
	return r.ends[i]
}

// storedVerdict is that of a record of which nothing else is to be said.
var storedVerdict = &Verdict{Kind: Stored}

// indexGroups makes the records of the items known.
func (r *Request) indexGroups() {
	r.records = r.records[:0]
	for record, n := range r.groups {
		for range n {
			r.records = append(r.records, int32(record))
		}
	}
}

// VerdictOf is the verdict on an item, once Done has ended the request.
func (r *Request) VerdictOf(i int) *Verdict {
	if r.AllStored {
		return storedVerdict
	}
	if r.groups != nil {
		i = int(r.records[i])
	}
	return &r.Verdicts[i]
}

// ShardOf is the position of an item's shard in the map that the request was
// made by, and the map, which is nil for one that was not sent now.
func (r *Request) ShardOf(i int) (int, ShardMap) { return int(r.Items[i].shard), r.smap }

// fresh is an empty request, used again where one is spare.
func (q *Queue) fresh() *Request {
	if n := len(q.spare); n > 0 {
		r := q.spare[n-1]
		q.spare = q.spare[:n-1]
		return r
	}
	return &Request{Items: make([]Item, 0, q.set.Records), Verdicts: make([]Verdict, 0, q.set.Records)}
}

// spareItems is how many items a request may have room for to be used again.
const spareItems = 1 << 13

// Release gives a request back once its ends are dealt with.
func (q *Queue) Release(r *Request) {
	if cap(r.Items) > spareItems || len(q.spare) >= mostConnections {
		return
	}
	clear(r.Items)
	clear(r.Verdicts)
	*r = Request{Items: r.Items[:0], Verdicts: r.Verdicts[:0], ends: r.ends[:0], records: r.records[:0], rows: r.rows[:0]}
	q.spare = append(q.spare, r)
}

package recordbatch

// Ends knows where the records end that a caller has read one after the other,
// as far back as the first that is not settled. Whoever goes on may begin at such
// an end and at no other place.
type Ends struct {
	first  int64 // number of the first record that was read, or would be
	offset int64 // where it begins
	read   int64 // number of the next record
	ring   []int64
}

// NewEnds makes the ends of a reading that begins with record first at offset.
// The reader is never more than window records beyond the first unsettled one.
func NewEnds(first, offset int64, window int) *Ends {
	return &Ends{first: first, offset: offset, read: first, ring: make([]int64, window+1)}
}

// Next is the number of the record that is read next.
func (e *Ends) Next() int64 { return e.read }

// Took notes where the record ends that was read next.
func (e *Ends) Took(end int64) {
	e.ring[e.read%int64(len(e.ring))] = end
	e.read++
}

// At is the place nearest to record n, and not beyond it, at which a reader may
// go on: a record that was read or comes next, and where it begins.
func (e *Ends) At(n int64) (record, offset int64) {
	n = min(n, e.read)
	if n <= e.first {
		return e.first, e.offset
	}
	return n, e.ring[(n-1)%int64(len(e.ring))]
}

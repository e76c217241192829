package recordbatch

import "time"

const (
	// burst is how much a shard's pace may save up while nothing is sent. The
	// service allows a second; half of it leaves room for other writers and
	// for requests that arrive bunched.
	burst = 500 * time.Millisecond
	// quantum is how much must have come together before a shard that waits
	// for its pace is served again, lest every record be a request.
	quantum = 100 * time.Millisecond

	// A refusal by the shard means that others write to it too, or that it
	// takes less than it says: the pace gives way at once and comes back
	// slowly.
	paceBackOff  = 0.7
	paceFloor    = 0.02
	paceRecovery = 0.1 // of the full pace, a second
)

// Pace is what a shard takes in a second; zero is no limit.
type Pace struct {
	Records float64
	Bytes   float64
}

// A bucket paces one shard. Instants are nanoseconds.
type bucket struct {
	records, bytes float64
	factor         float64
	last           int64
}

func newBucket(p Pace, now int64) bucket {
	return bucket{records: p.Records * burst.Seconds(), bytes: p.Bytes * burst.Seconds(), factor: 1, last: now}
}

func (b *bucket) refill(p Pace, now int64) {
	if now <= b.last {
		return
	}
	dt := float64(now-b.last) / float64(time.Second)
	b.last = now
	b.factor = min(1, b.factor+dt*paceRecovery)
	b.records = min(p.Records*burst.Seconds(), b.records+dt*p.Records*b.factor)
	b.bytes = min(p.Bytes*burst.Seconds(), b.bytes+dt*p.Bytes*b.factor)
}

// short says that a record of size must wait. One larger than the whole
// bucket goes when the bucket is full, and leaves a debt.
func (b *bucket) short(p Pace, size int) bool {
	return p.Records > 0 && b.records < 1 ||
		p.Bytes > 0 && b.bytes < min(float64(size), p.Bytes*burst.Seconds()*0.999)
}

// take spends what a record of size needs, if it is there.
func (b *bucket) take(p Pace, size int) bool {
	if b.short(p, size) {
		return false
	}
	b.records--
	b.bytes -= float64(size)
	return true
}

// takeAll spends what so many records of so many bytes need, if it is there.
func (b *bucket) takeAll(p Pace, records, bytes int) bool {
	if p.Records > 0 && b.records < float64(records) || p.Bytes > 0 && b.bytes < float64(bytes) {
		return false
	}
	b.records -= float64(records)
	b.bytes -= float64(bytes)
	return true
}

// yield answers a refusal: nothing is left to spend, and the pace slows.
func (b *bucket) yield() {
	b.records, b.bytes = min(b.records, 0), min(b.bytes, 0)
	b.factor = max(paceFloor, b.factor*paceBackOff)
}

// wait is how long until a batch worth sending may go, where records of bytes
// in all wait, the first of them with headSize.
func (b *bucket) wait(p Pace, records, bytes, headSize int) time.Duration {
	var seconds float64
	if p.Records > 0 {
		need := min(float64(records), max(1, p.Records*b.factor*quantum.Seconds()))
		seconds = (need - b.records) / (p.Records * b.factor)
	}
	if p.Bytes > 0 {
		need := max(float64(headSize), min(float64(bytes), p.Bytes*b.factor*quantum.Seconds()))
		need = min(need, p.Bytes*burst.Seconds()*0.999)
		seconds = max(seconds, (need-b.bytes)/(p.Bytes*b.factor))
	}
	if seconds <= 0 {
		return 0
	}
	// A nanosecond more than computed, so that rounding never wakes too early.
	return time.Duration(seconds*float64(time.Second)) + 1
}

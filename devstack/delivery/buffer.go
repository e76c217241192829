package delivery

import "time"

// A buffer collects records until it is full or old enough. It knows no clock.
type buffer struct {
	limit    int
	interval time.Duration

	data    []byte
	records int
	since   time.Time         // of the first record
	reached map[string]string // last sequence number by shard
}

func newBuffer(limit int, interval time.Duration) *buffer {
	return &buffer{limit: limit, interval: interval, reached: map[string]string{}}
}

// A batch is what a shard had to give.
type batch struct {
	shard   string
	records [][]byte
	last    string // sequence number of the last one
}

// add takes a batch whole.
func (b *buffer) add(from batch, now time.Time) {
	if b.records == 0 {
		b.since = now
	}
	for _, r := range from.records {
		b.data = append(b.data, r...)
	}
	b.records += len(from.records)
	b.reached[from.shard] = from.last
}

// due tells whether the buffer is to be delivered, else in how long it will be;
// 0 is never, since it is empty.
func (b *buffer) due(now time.Time) (bool, time.Duration) {
	if b.records == 0 {
		return false, 0
	}
	left := b.interval - now.Sub(b.since)
	if len(b.data) >= b.limit || left <= 0 {
		return true, 0
	}
	return false, left
}

func (b *buffer) clear() {
	b.data, b.records, b.reached = nil, 0, map[string]string{}
}

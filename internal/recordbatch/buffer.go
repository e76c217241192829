package recordbatch

import (
	"encoding/base64"
	"slices"
)

// Buffered is a record in a durable buffer, as it is carried in JSON.
type Buffered struct {
	Data     string `json:"Data"` // base64
	Key      string `json:"PartitionKey"`
	HashKey  string `json:"ExplicitHashKey,omitempty"`
	Attempts int    `json:"attempts,omitempty"` // how often it was refused singly
}

// Buffer makes a record one of a buffer.
func (r *Record) Buffer() Buffered {
	return Buffered{Data: base64.StdEncoding.EncodeToString(r.Data), Key: r.Key, HashKey: r.HashKey}
}

// Encoded is how many bytes a record takes in JSON, with the comma behind it
// and room for its count of attempts.
func (b *Buffered) Encoded() int {
	const frame = len(`{"Data":,"PartitionKey":,"ExplicitHashKey":"","attempts":1000000},`)
	return frame + len(b.Data) + 2 + len(appendString(nil, b.Key)) + len(b.HashKey)
}

// Buffer is the durable buffer of a Producer, without its clock and its calls.
// The records of a batch stay in it, at its front, until they are settled, so
// that it is always all that is owed; a record added goes to its end.
type Buffer struct {
	Records  []Buffered `json:"records"`
	Bytes    int        `json:"bytes"`
	InFlight int        `json:"inFlight,omitempty"` // records of the batch that is out: the first ones
	// Due is how many of the first records may go although they fill no batch.
	Due int `json:"due,omitempty"`

	Sent               int64 `json:"sent"`
	Dropped            int64 `json:"dropped"`
	PossiblyDuplicated int64 `json:"possiblyDuplicated"`

	marks []*Mark
}

// A Mark follows the records that were in the buffer when it was made.
type Mark struct {
	// Left is how many of them are still owed.
	Left int
}

// Bounds of a buffer.
type Bounds struct {
	Records int
	Bytes   int
}

// Fits says whether records of so many encoded bytes have room.
func (b *Buffer) Fits(records, bytes int, bounds Bounds) bool {
	return len(b.Records)+records <= bounds.Records && b.Bytes+bytes <= bounds.Bytes
}

// Full says that the buffer is filled to a share of 95 % of its bounds.
func (b *Buffer) Full(bounds Bounds) bool {
	return 100*len(b.Records) >= 95*bounds.Records || 100*b.Bytes >= 95*bounds.Bytes
}

// Add appends records.
func (b *Buffer) Add(records []Buffered) {
	for i := range records {
		b.Bytes += records[i].Encoded()
	}
	b.Records = append(b.Records, records...)
}

// Follow makes a mark at the buffer's present end.
func (b *Buffer) Follow() *Mark {
	m := &Mark{Left: len(b.Records)}
	b.marks = append(b.marks, m)
	return m
}

// Forget ends a mark.
func (b *Buffer) Forget(m *Mark) {
	b.marks = slices.DeleteFunc(b.marks, func(o *Mark) bool { return o == m })
}

// Take puts the first records out as a batch, at most n of them.
func (b *Buffer) Take(n int) []Buffered {
	b.InFlight = min(n, len(b.Records))
	return b.Records[:b.InFlight:b.InFlight]
}

// A Report tells how a batch ended, by its records' numbers, ascending: those
// named stay owed, all others are stored.
type Report struct {
	Failed             []int64 // refused singly: an attempt more
	Kept               []int64 // owed as they were
	Refused            []int64 // never to be stored
	PossiblyDuplicated int64
}

// Settle ends the batch that is out. Records that failed maxAttempts times or
// are refused are dropped; it returns how many. What is owed stays in front, in
// its order.
func (b *Buffer) Settle(r Report, maxAttempts int) (stored, dropped int) {
	b.PossiblyDuplicated += r.PossiblyDuplicated
	gone := make([]bool, b.InFlight)
	for i := range gone {
		n := int64(i)
		record := &b.Records[i]
		switch {
		case has(r.Kept, n):
		case has(r.Refused, n):
			gone[i] = true
			dropped++
		case has(r.Failed, n):
			if record.Attempts++; record.Attempts >= maxAttempts {
				gone[i] = true
				dropped++
			}
		default:
			gone[i] = true
			stored++
		}
	}
	b.InFlight = 0
	b.Sent += int64(stored)
	b.Dropped += int64(dropped)
	b.remove(gone)
	return stored, dropped
}

func has(sorted []int64, n int64) bool {
	_, found := slices.BinarySearch(sorted, n)
	return found
}

// Drop gives up the first n records.
func (b *Buffer) Drop(n int) {
	gone := make([]bool, min(n, len(b.Records)))
	for i := range gone {
		gone[i] = true
	}
	b.Dropped += int64(len(gone))
	b.remove(gone)
}

// remove takes those of the first records out that are gone, and has the marks
// know.
func (b *Buffer) remove(gone []bool) {
	kept := make([]Buffered, 0, len(b.Records))
	due := b.Due
	left := make([]int, len(b.marks))
	for i, record := range b.Records {
		if i >= len(gone) || !gone[i] {
			kept = append(kept, record)
			continue
		}
		b.Bytes -= record.Encoded()
		if i < due {
			b.Due--
		}
		for m, mark := range b.marks {
			if i < mark.Left {
				left[m]++
			}
		}
	}
	for m, mark := range b.marks {
		mark.Left -= left[m]
	}
	b.Records = kept
}

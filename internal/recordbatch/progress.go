package recordbatch

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// Progress knows which of a call's records are settled, numbered from 0: all
// below Next, and those that are noted one by one within Window beyond it.
type Progress struct {
	next   int64
	window int64
	marks  []uint64 // ring of bits: record n is bit n mod window, a power of two
	ahead  int64    // how many marks are set
}

// NewProgress makes a progress in which all records below next are settled.
// The window is rounded up to a power of two.
func NewProgress(next int64, window int) *Progress {
	words := 1 << bits.Len(uint(max(1, (window+63)/64)-1))
	return &Progress{next: next, window: int64(words) * 64, marks: make([]uint64, words)}
}

// Next is the first record that is not settled.
func (p *Progress) Next() int64 { return p.next }

// Settled is how many records are settled.
func (p *Progress) Settled() int64 { return p.next + p.ahead }

// Fits says whether record n may be sent: beyond the window its end could not
// be noted.
func (p *Progress) Fits(n int64) bool { return n-p.next < p.window }

// Has says whether record n is settled.
func (p *Progress) Has(n int64) bool {
	if n < p.next {
		return true
	}
	if !p.Fits(n) {
		return false
	}
	word, bit := p.place(n)
	return p.marks[word]&bit != 0
}

// Settle notes record n. One beyond the window is a fault of the caller's and is ignored.
func (p *Progress) Settle(n int64) {
	if !p.Fits(n) || p.Has(n) {
		return
	}
	word, bit := p.place(n)
	p.marks[word] |= bit
	p.ahead++
	if n != p.next {
		return
	}
	for p.ahead > 0 {
		word, bit := p.place(p.next)
		if p.marks[word]&bit == 0 {
			return
		}
		p.marks[word] &^= bit
		p.ahead--
		p.next++
	}
}

func (p *Progress) place(n int64) (word int64, bit uint64) {
	n &= p.window - 1
	return n >> 6, 1 << (n & 63)
}

// Ahead writes the settled records beyond Next as ranges relative to it:
// "3-7,12". It is empty where there are none.
func (p *Progress) Ahead() string { return p.AheadOf(p.next) }

// AheadOf writes the settled records from record n on, which is at most Next, as
// ranges relative to n.
func (p *Progress) AheadOf(n int64) string {
	var out []byte
	if n < p.next {
		out = appendRange(out, 0, p.next-1-n)
	}
	left := p.ahead
	for at := p.next; left > 0; {
		if !p.Has(at) {
			at += p.gap(at)
			continue
		}
		from := at
		for p.Has(at) {
			at++
		}
		left -= at - from
		out = appendRange(out, from-n, at-1-n)
	}
	return string(out)
}

func appendRange(out []byte, from, to int64) []byte {
	if len(out) > 0 {
		out = append(out, ',')
	}
	out = strconv.AppendInt(out, from, 10)
	if to > from {
		out = strconv.AppendInt(append(out, '-'), to, 10)
	}
	return out
}

// gap is how many records from n on are surely unmarked, at least one.
func (p *Progress) gap(n int64) int64 {
	word, bit := p.place(n)
	rest := p.marks[word] &^ (bit - 1)
	if rest == 0 {
		return 64 - n%64
	}
	return int64(bits.TrailingZeros64(rest)) - n%64
}

// Mark settles the ranges that Ahead or AheadOf wrote, in their order.
func (p *Progress) Mark(ahead string) error {
	if ahead == "" {
		return nil
	}
	base, least := p.next, int64(0)
	for part := range strings.SplitSeq(ahead, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.ParseInt(from, 10, 64)
		b, errB := strconv.ParseInt(to, 10, 64)
		if errA != nil || errB != nil || a < least || b < a || b >= p.window {
			return fmt.Errorf("not a list of settled records: %q", part)
		}
		for n := a; n <= b; n++ {
			p.Settle(base + n)
		}
		least = b + 1
	}
	return nil
}

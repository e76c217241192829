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
	marks  []uint64 // ring of bits: record n is bit n mod window
	ahead  int64    // how many marks are set
}

// NewProgress makes a progress in which all records below next are settled.
// The window is rounded up to a multiple of 64.
func NewProgress(next int64, window int) *Progress {
	words := max(1, (window+63)/64)
	return &Progress{next: next, window: int64(words) * 64, marks: make([]uint64, words)}
}

// Next is the first record that is not settled.
func (p *Progress) Next() int64 { return p.next }

// Settled is how many records are settled.
func (p *Progress) Settled() int64 { return p.next + p.ahead }

// Fits says whether record n may be sent: beyond the window its end could not
// be noted.
func (p *Progress) Fits(n int64) bool { return n < p.next+p.window }

// Has says whether record n is settled.
func (p *Progress) Has(n int64) bool {
	if n < p.next {
		return true
	}
	if n >= p.next+p.window {
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
	n %= p.window
	return n >> 6, 1 << (n & 63)
}

// Ahead writes the settled records beyond Next as ranges relative to it:
// "3-7,12". It is empty where there are none.
func (p *Progress) Ahead() string {
	var out strings.Builder
	left := p.ahead
	for n := p.next; left > 0 && n < p.next+p.window; {
		if !p.Has(n) {
			n += p.gap(n)
			continue
		}
		from := n
		for p.Has(n) && n < p.next+p.window {
			n++
		}
		left -= n - from
		if out.Len() > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strconv.FormatInt(from-p.next, 10))
		if n-from > 1 {
			out.WriteByte('-')
			out.WriteString(strconv.FormatInt(n-1-p.next, 10))
		}
	}
	return out.String()
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

// Mark settles the ranges that Ahead wrote.
func (p *Progress) Mark(ahead string) error {
	if ahead == "" {
		return nil
	}
	base := p.next
	for part := range strings.SplitSeq(ahead, ",") {
		from, to, isRange := strings.Cut(part, "-")
		if !isRange {
			to = from
		}
		a, errA := strconv.ParseInt(from, 10, 64)
		b, errB := strconv.ParseInt(to, 10, 64)
		if errA != nil || errB != nil || a < 0 || b < a || b >= p.window {
			return fmt.Errorf("not a list of settled records: %q", part)
		}
		for n := a; n <= b; n++ {
			p.Settle(base + n)
		}
	}
	return nil
}

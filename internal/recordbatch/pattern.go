package recordbatch

import "encoding/binary"

// A pattern is how a stored record's entry was written. The entries of an answer
// differ in the sequence number and the shard only, so that one like the last need
// not be read, but compared.
type pattern struct {
	raw           []byte // empty: none yet
	number, shard span   // in raw
	first, second span   // the same, as they come
}

type span struct{ from, to int }

// patternOf is the pattern of an entry whose number and shard are parts of it.
func patternOf(raw, number, shard []byte) pattern {
	p := pattern{raw: raw, number: spanOf(raw, number), shard: spanOf(raw, shard)}
	if p.number.to == 0 || p.shard.to == 0 {
		return pattern{} // one of them had to be decoded
	}
	if p.first, p.second = p.number, p.shard; p.shard.from < p.number.from {
		p.first, p.second = p.shard, p.number
	}
	return p
}

// spanOf finds a part of raw.
func spanOf(raw, part []byte) span {
	from := cap(raw) - cap(part)
	if len(part) == 0 || from < 0 || from+len(part) > len(raw) || &raw[from] != &part[0] {
		return span{}
	}
	return span{from, from + len(part)}
}

// alike says how long the next entry is if it is written like the last one, of a
// record that is stored where it was expected; else it is 0.
func (a *answer) alike(data []byte) int {
	size := len(a.usual.raw)
	it := a.expected()
	if size == 0 || len(data) < size || it == nil || a.r.smap == nil || !a.usual.like(data[:size], a.r.smap[it.shard].ID) {
		return 0
	}
	if a.unusual {
		a.r.Verdicts = append(a.r.Verdicts, *storedVerdict)
	}
	a.advance()
	return size
}

// like says that an entry is written in this way, with a name for its shard.
func (p *pattern) like(entry []byte, shard string) bool {
	return string(entry[p.shard.from:p.shard.to]) == shard &&
		string(entry[:p.first.from]) == string(p.raw[:p.first.from]) &&
		string(entry[p.first.to:p.second.from]) == string(p.raw[p.first.to:p.second.from]) &&
		string(entry[p.second.to:]) == string(p.raw[p.second.to:]) && isDecimal(entry[p.number.from:p.number.to])
}

// isDecimal says that a text may be a number: of its bytes none is less than 0x30 or
// more than 0x3f, so that none ends a string.
func isDecimal(text []byte) bool {
	for len(text) >= 8 {
		if binary.LittleEndian.Uint64(text)&0xf0f0f0f0f0f0f0f0 != 0x3030303030303030 {
			return false
		}
		text = text[8:]
	}
	for _, c := range text {
		if c&0xf0 != 0x30 {
			return false
		}
	}
	return true
}

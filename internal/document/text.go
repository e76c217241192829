package document

import (
	"bytes"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// IsText says that every string in valid JSON is text. One may be written that is
// not: with bytes that are no UTF-8, or with an escape for half of a surrogate pair.
// The standard library reads such a half as U+FFFD, so that two strings become one.
func IsText(raw []byte) bool {
	if !utf8.Valid(raw) {
		return false
	}
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 == len(raw) {
			return true
		}
		raw = raw[i:]
		unit, ok := escaped(raw)
		switch {
		case !ok:
			raw = raw[2:] // an escape of another kind
		case !utf16.IsSurrogate(unit):
			raw = raw[6:]
		default:
			low, _ := escaped(raw[6:])
			if utf16.DecodeRune(unit, low) == utf8.RuneError {
				return false
			}
			raw = raw[12:]
		}
	}
}

// escaped reads the escape \uXXXX that text begins with.
func escaped(text []byte) (rune, bool) {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return rune(unit), err == nil
}

package recordbatch

import (
	"bytes"
	"encoding/json"

	"sluice/internal/document"
)

// scanner walks over JSON without building it. It passes over what it need not
// know, and so accepts some text that is not quite JSON.
type scanner struct {
	data []byte
	at   int
}

// next is the next byte that is no white space, or 0 at the end.
func (s *scanner) next() byte {
	for s.at < len(s.data) {
		switch c := s.data[s.at]; c {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) expect(c byte) error {
	if s.next() != c {
		return errAnswer
	}
	s.at++
	return nil
}

// object calls field for each name, which must pass over the value.
func (s *scanner) object(field func(name []byte) error) error {
	return s.list('{', '}', func() error {
		name, err := s.text()
		if err != nil {
			return err
		}
		if err := s.expect(':'); err != nil {
			return err
		}
		return field(name)
	})
}

func (s *scanner) array(element func() error) error { return s.list('[', ']', element) }

func (s *scanner) list(open, shut byte, element func() error) error {
	if err := s.expect(open); err != nil {
		return err
	}
	if s.next() == shut {
		s.at++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		switch s.next() {
		case ',':
			s.at++
		case shut:
			s.at++
			return nil
		default:
			return errAnswer
		}
	}
}

// text reads a string, or null as an empty one.
func (s *scanner) text() ([]byte, error) {
	if s.next() == 'n' {
		return nil, s.skip()
	}
	start := s.at
	if err := s.passString(); err != nil {
		return nil, err
	}
	raw := s.data[start+1 : s.at-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		return raw, nil
	}
	var text string
	if json.Unmarshal(s.data[start:s.at], &text) != nil {
		return nil, errAnswer
	}
	if !document.IsText(s.data[start:s.at]) {
		// Half a character has no place in UTF-8, so that it can't be taken for
		// U+FFFD, which another string may have.
		return append([]byte(text), noText), nil
	}
	return []byte(text), nil
}

// noText is behind a string that is no text: no UTF-8 has such a byte.
const noText = 0xff

// passString moves behind a string.
func (s *scanner) passString() error {
	if err := s.expect('"'); err != nil {
		return err
	}
	for {
		i := bytes.IndexByte(s.data[s.at:], '"')
		if i < 0 {
			return errAnswer
		}
		slashes := 0
		for end := s.at + i; end-1-slashes >= s.at && s.data[end-1-slashes] == '\\'; slashes++ {
		}
		s.at += i + 1
		if slashes%2 == 0 {
			return nil
		}
	}
}

// count reads a number without moving on; -1 is none.
func (s *scanner) count() int {
	if s.next() == 0 {
		return -1
	}
	n := -1
	for i := s.at; i < len(s.data) && n < 1<<30; i++ {
		d := s.data[i] - '0'
		if d > 9 {
			break
		}
		n = max(n, 0)*10 + int(d)
	}
	return n
}

// skip moves behind a value of any kind.
func (s *scanner) skip() error {
	switch s.next() {
	case 0:
		return errAnswer
	case '"':
		return s.passString()
	case '{', '[':
		return s.skipNested()
	}
	start := s.at
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ',', '}', ']', ' ', '\t', '\n', '\r':
			if s.at == start {
				return errAnswer
			}
			return nil
		}
		s.at++
	}
	return nil
}

func (s *scanner) skipNested() error {
	depth := 0
	for {
		switch s.next() {
		case 0:
			return errAnswer
		case '"':
			if err := s.passString(); err != nil {
				return err
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.at++
		if depth == 0 {
			return nil
		}
	}
}

// end sees that nothing follows.
func (s *scanner) end() error {
	if s.next() != 0 {
		return errAnswer
	}
	return nil
}

package recordbatch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Codes of ours for records that an answer does not confirm.
const (
	CodeUnconfirmed = "Unconfirmed"
	CodeMismatch    = "RecordCountMismatch"
)

var errAnswer = errors.New("the answer is not the JSON of a PutRecords answer")

// ReadAnswer judges every record of the request by its own entry in the
// service's answer, and never by the count of failures: an entry with an error
// code is refused, one with a sequence number is stored, any other is
// unconfirmed. With more or fewer entries than records nobody knows which is
// whose, so that none is confirmed. What does not add up is told as a warning.
// An answer that can't be read is an error; then nothing is confirmed either.
func (r *Request) ReadAnswer(body []byte) (warning string, err error) {
	s := scanner{data: body}
	r.Verdicts = r.Verdicts[:0]
	failures, seen := -1, 0
	err = s.object(func(name []byte) error {
		switch string(name) {
		case "FailedRecordCount":
			failures = s.count()
			return s.skip()
		case "Records":
			return s.array(func() error {
				seen++
				return r.readEntry(&s, seen-1)
			})
		}
		return s.skip()
	})
	if err == nil {
		err = s.end()
	}
	if err != nil {
		return "", err
	}
	if seen != len(r.Items) {
		r.Verdicts = r.Verdicts[:0]
		warning = fmt.Sprintf("the answer has %d entries for %d records", seen, len(r.Items))
		for range r.Items {
			r.Verdicts = append(r.Verdicts, Verdict{Kind: Unconfirmed, Code: CodeMismatch, Message: warning})
		}
		return warning, nil
	}
	refused, unsure := 0, 0
	for i := range r.Verdicts {
		switch r.Verdicts[i].Kind {
		case Refused:
			refused++
		case Unconfirmed:
			unsure++
		}
	}
	if failures >= 0 && failures != refused || unsure > 0 {
		warning = fmt.Sprintf("the answer counts %d failed records; %d have an error code, %d neither a code nor a sequence number",
			failures, refused, unsure)
	}
	return warning, nil
}

// storedHead begins an entry of a stored record, as the service writes it; the
// map's tails end it.
const storedHead = `{"SequenceNumber":"`

// tails are, by shard, how the entry of a record stored there ends.
func tails(m ShardMap) []string {
	ends := make([]string, len(m))
	for i := range m {
		if m[i].ID != "" {
			ends[i] = `","ShardId":"` + m[i].ID + `"}`
		}
	}
	return ends
}

// quickEntry reads the usual entry: a record that is stored in the shard where
// it was expected. Anything else it leaves to readEntry.
func (r *Request) quickEntry(s *scanner, i int) bool {
	if i >= len(r.Items) || r.smap == nil || s.next() != '{' {
		return false
	}
	rest := s.data[s.at:]
	if len(rest) < len(storedHead) || string(rest[:len(storedHead)]) != storedHead {
		return false
	}
	number := bytes.IndexByte(rest[len(storedHead):], '"')
	if number <= 0 {
		return false
	}
	shard := r.Items[i].shard
	end, tail := len(storedHead)+number, r.tails[shard]
	if tail == "" || len(rest) < end+len(tail) || string(rest[end:end+len(tail)]) != tail {
		return false
	}
	s.at += end + len(tail)
	r.Verdicts = append(r.Verdicts, Verdict{Kind: Stored, Shard: r.smap[shard].ID})
	return true
}

// readEntry reads one entry of the answer.
func (r *Request) readEntry(s *scanner, i int) error {
	if r.quickEntry(s, i) {
		return nil
	}
	v := Verdict{Kind: Unconfirmed}
	numbered := false
	err := s.object(func(name []byte) error {
		switch string(name) {
		case "SequenceNumber":
			text, err := s.text()
			numbered = len(text) > 0
			return err
		case "ShardId":
			text, err := s.text()
			v.Shard = r.shardName(i, text)
			return err
		case "ErrorCode":
			text, err := s.text()
			v.Code = codeName(text)
			return err
		case "ErrorMessage":
			text, err := s.text()
			v.Message = string(text)
			return err
		}
		return s.skip()
	})
	switch {
	case v.Code != "":
		v.Kind = Refused
	case numbered:
		v.Kind = Stored
	default:
		v.Code, v.Message = CodeUnconfirmed, "the answer has neither a sequence number nor an error code for the record"
	}
	r.Verdicts = append(r.Verdicts, v)
	return err
}

// shardName is the text as a string; the expected name costs no allocation.
func (r *Request) shardName(i int, text []byte) string {
	if i < len(r.Items) && r.smap != nil {
		if id := r.smap[r.Items[i].shard].ID; id == string(text) {
			return id
		}
	}
	return string(text)
}

func codeName(text []byte) string {
	switch string(text) {
	case CodeThrottled:
		return CodeThrottled
	case CodeInternal:
		return CodeInternal
	}
	return string(text)
}

// CodeInternal is the service's code for a record that it failed to store.
const CodeInternal = "InternalFailure"

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
	return []byte(text), nil
}

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

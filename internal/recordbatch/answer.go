package recordbatch

import (
	"errors"
	"fmt"
)

// Codes of ours for records that an answer does not confirm.
const (
	CodeUnconfirmed = "Unconfirmed"
	CodeMismatch    = "RecordCountMismatch"
)

// CodeInternal is the service's code for a record that it failed to store.
const CodeInternal = "InternalFailure"

var errAnswer = errors.New("the answer is not that of a PutRecords call")

// ReadAnswer judges every record of the request by its own entry in the
// service's answer, and never by the count of failures: an entry with an error
// code is refused, one with a sequence number is stored, any other is
// unconfirmed. With more or fewer entries than records nobody knows which is
// whose, so that none is confirmed. What does not add up is told as a warning.
// An answer that can't be read is an error; then nothing is confirmed either.
func (r *Request) ReadAnswer(body []byte) (warning string, err error) {
	r.Verdicts, r.AllStored = r.Verdicts[:0], false
	a := answer{r: r, failures: -1}
	if len(body) > 0 && isCBOR(body[0]) {
		err = a.readCBOR(body)
	} else {
		err = a.readJSON(body)
	}
	if err != nil {
		return "", err
	}
	return a.judge(), nil
}

// answer is what was read of one so far.
type answer struct {
	r        *Request
	failures int // as the service counts them, or -1
	seen     int // entries
	unusual  bool

	at int // of the entry's first item
	// What was read of the entry in question.
	number, shard []byte
	told          Told

	usual pattern
}

// expected is the item of the entry that comes next, or nil.
func (a *answer) expected() *Item {
	if a.at >= len(a.r.Items) {
		return nil
	}
	return &a.r.Items[a.at]
}

// add ends an entry. Verdicts are written once there is one that is not the usual.
func (a *answer) add(v Verdict) {
	if !a.unusual && v != *storedVerdict {
		a.unusual = true
		for range a.seen {
			a.r.Verdicts = append(a.r.Verdicts, *storedVerdict)
		}
	}
	if a.unusual {
		a.r.Verdicts = append(a.r.Verdicts, v)
	}
	a.advance()
}

// advance goes on to the next entry.
func (a *answer) advance() {
	if a.r.groups == nil {
		a.at++
	} else if a.seen < len(a.r.groups) {
		a.at += int(a.r.groups[a.seen])
	}
	a.seen++
}

// entry judges an entry by its fields; raw is how it is written.
func (a *answer) entry(raw []byte) {
	switch {
	case a.told.Code != "":
		a.add(Verdict{Kind: Refused, Told: &Told{Code: a.told.Code, Message: a.told.Message}})
	case len(a.number) == 0:
		a.add(Verdict{Kind: Unconfirmed, Told: &Told{Code: CodeUnconfirmed,
			Message: "the answer has neither a sequence number nor an error code for the record"}})
	case a.isExpected(a.told.Shard):
		a.usual = patternOf(raw, a.number, a.shard)
		a.add(Verdict{Kind: Stored})
	default:
		a.add(Verdict{Kind: Stored, Told: &Told{Shard: a.told.Shard}})
	}
	a.number, a.shard, a.told = nil, nil, Told{}
}

// isExpected says that the entry's record lies in the shard where the map has it.
func (a *answer) isExpected(shard string) bool {
	it := a.expected()
	return it != nil && a.r.smap != nil && shard != "" && a.r.smap[it.shard].ID == shard
}

// judge looks at the whole.
func (a *answer) judge() (warning string) {
	r := a.r
	if records := r.Records(); a.seen != records {
		warning = fmt.Sprintf("the answer has %d entries for %d records", a.seen, records)
		r.Verdicts = r.Verdicts[:0]
		for range records {
			r.Verdicts = append(r.Verdicts, Verdict{Kind: Unconfirmed, Told: &Told{Code: CodeMismatch, Message: warning}})
		}
		return warning
	}
	r.AllStored = !a.unusual
	refused, unconfirmed := 0, 0
	for i := range r.Verdicts {
		switch r.Verdicts[i].Kind {
		case Refused:
			refused++
		case Unconfirmed:
			unconfirmed++
		}
	}
	if a.failures >= 0 && a.failures != refused || unconfirmed > 0 {
		return fmt.Sprintf("the answer counts %d failed records; %d have an error code, %d neither a code nor a sequence number",
			a.failures, refused, unconfirmed)
	}
	return ""
}

func (a *answer) readJSON(body []byte) error {
	s := scanner{data: body}
	err := s.object(func(name []byte) error {
		switch string(name) {
		case "FailedRecordCount":
			a.failures = s.count()
			return s.skip()
		case "Records":
			return s.array(func() error { return a.entryJSON(&s) })
		}
		return s.skip()
	})
	if err == nil {
		err = s.end()
	}
	return err
}

// entryJSON reads one entry.
func (a *answer) entryJSON(s *scanner) error {
	s.next()
	if n := a.alike(s.data[s.at:]); n > 0 {
		s.at += n
		return nil
	}
	start := s.at
	err := s.object(func(name []byte) error {
		switch string(name) {
		case "SequenceNumber", "ShardId", "ErrorCode", "ErrorMessage":
			text, err := s.text()
			a.field(name, text)
			return err
		}
		return s.skip()
	})
	if err == nil {
		a.entry(s.data[start:s.at])
	}
	return err
}

// field notes a field of an entry.
func (a *answer) field(name, text []byte) {
	switch string(name) {
	case "SequenceNumber":
		a.number = text
	case "ShardId":
		a.shard = text
		if it := a.expected(); it != nil && a.r.smap != nil && a.r.smap[it.shard].ID == string(text) {
			a.told.Shard = a.r.smap[it.shard].ID // the expected name costs no allocation
			return
		}
		a.told.Shard = string(text)
	case "ErrorCode":
		a.told.Code = codeName(text)
	case "ErrorMessage":
		a.told.Message = string(text)
	}
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

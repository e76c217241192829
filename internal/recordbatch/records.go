package recordbatch

import (
	"encoding/base64"
	"fmt"
)

// ReadRecords reads AWS's list of records, [{"Data":base64,"PartitionKey",
// "ExplicitHashKey"}], from valid JSON. Data and keys share two blocks of
// memory, whatever their number. What is wrong with the list goes to fault,
// with the number of the record (-1: the list) and the field ("": the record).
// Whether a record is fit to be sent is for [Limits.Check] to say.
func ReadRecords(raw []byte, fault func(record int, field, message string)) []Record {
	s := scanner{data: raw}
	if s.next() != '[' {
		fault(-1, "", "a list of records is expected")
		return nil
	}
	r := recordReader{scanner: s, whole: string(raw), fault: fault}
	r.block = make([]byte, 0, len(raw)*3/4)
	err := r.array(func() error {
		defer func() { r.n++ }()
		if r.next() != '{' {
			fault(r.n, "", "an object is expected")
			return r.skip()
		}
		return r.record()
	})
	if err != nil {
		fault(-1, "", "not valid JSON")
	}
	return r.records
}

type recordReader struct {
	scanner
	whole   string
	block   []byte
	records []Record
	n       int
	fault   func(record int, field, message string)
}

func (r *recordReader) record() error {
	var record Record
	hasData := false
	err := r.object(func(name []byte) error {
		switch string(name) {
		case "Data":
			hasData = true
			return r.data(&record)
		case "PartitionKey":
			return r.key(&record.Key, "PartitionKey")
		case "ExplicitHashKey":
			return r.key(&record.HashKey, "ExplicitHashKey")
		}
		r.fault(r.n, string(name), "unknown field; known are Data, PartitionKey, ExplicitHashKey")
		return r.skip()
	})
	if !hasData {
		r.fault(r.n, "Data", "required")
	}
	r.records = append(r.records, record)
	return err
}

func (r *recordReader) data(record *Record) error {
	if r.next() != '"' {
		r.fault(r.n, "Data", "base64 text is expected")
		return r.skip()
	}
	text, err := r.text()
	if err != nil {
		return err
	}
	from := len(r.block)
	if r.block, err = base64.StdEncoding.AppendDecode(r.block, text); err != nil {
		r.fault(r.n, "Data", fmt.Sprintf("not base64: %v", err))
	}
	record.Data = r.block[from:len(r.block):len(r.block)]
	return nil
}

// key reads a string or null.
func (r *recordReader) key(into *string, field string) error {
	switch r.next() {
	case 'n':
		return r.skip()
	case '"':
	default:
		r.fault(r.n, field, "a string is expected")
		return r.skip()
	}
	start := r.at
	text, err := r.text()
	if err != nil {
		return err
	}
	if len(text) == r.at-start-2 && r.whole[start+1:r.at-1] == string(text) {
		*into = r.whole[start+1 : r.at-1]
		return nil
	}
	*into = string(text)
	return nil
}

package taskmessage

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"
)

// How the body of a poison record is kept.
const (
	BodyAsIs = ""     // the original text
	BodyGzip = "gzip" // base64 of the gzip of the original text, which else would not fit
	BodyCut  = "cut"  // the beginning of the original text; the rest is lost
)

// Record is the copy of a poisoned message on the poison queue, as plain JSON.
type Record struct {
	MessageID    string    `json:"messageId"` // of the original; a second copy has the same
	Queue        string    `json:"queue"`     // where it came from, and goes back to
	Reason       string    `json:"reason"`
	DequeueCount int64     `json:"dequeueCount"`
	Excused      int64     `json:"excused,omitempty"`
	InsertedAt   time.Time `json:"insertedAt,omitzero"`
	PoisonedAt   time.Time `json:"poisonedAt"`
	BodyBytes    int       `json:"bodyBytes"` // of the original text
	BodyEncoding string    `json:"bodyEncoding,omitempty"`
	Body         string    `json:"body"`
}

// maxReason keeps a reason that quotes a service's answer from crowding out the body.
const maxReason = 1000

// Wrap returns the text of the record for a message with this body. A body that
// does not fit beside the rest is compressed, and cut where even that is too
// long: a message that is poison must not block the queue by being large too.
func (r Record) Wrap(body string) (string, error) {
	r.Reason = shorten(r.Reason, maxReason)
	r.BodyBytes = len(body)
	r.Body, r.BodyEncoding = body, BodyAsIs
	if text, err := r.text(); err == nil {
		return text, nil
	}
	packed, err := pack(body)
	if err != nil {
		return "", err
	}
	r.Body, r.BodyEncoding = packed, BodyGzip
	if text, err := r.text(); err == nil {
		return text, nil
	}
	return r.cut(body)
}

// cut keeps a beginning of body that fits. Taking off as many bytes as the
// record is too long suffices, since no byte gets shorter by being escaped.
func (r Record) cut(body string) (string, error) {
	r.BodyEncoding = BodyCut
	r.Body = body
	_, err := r.text()
	var tooLarge *TooLargeError
	if errors.As(err, &tooLarge) {
		excess := tooLarge.Bytes - tooLarge.Limit + len("…")
		r.Body = shorten(body, max(0, len(body)-excess))
	}
	return r.text()
}

func (r Record) text() (string, error) {
	raw, err := marshal(r)
	if err != nil {
		return "", err
	}
	return string(raw), fits(string(raw))
}

// Unwrap reads a record back from the poison queue.
func Unwrap(text string) (Record, error) {
	var r Record
	if err := json.Unmarshal([]byte(text), &r); err != nil || r.MessageID == "" {
		return Record{}, fmt.Errorf("not a poison record: %s", shorten(text, 80))
	}
	return r, nil
}

// Original returns the text as it was on the queue.
func (r Record) Original() (string, error) {
	switch r.BodyEncoding {
	case BodyAsIs:
		return r.Body, nil
	case BodyGzip:
		return unpack(r.Body)
	default:
		return "", fmt.Errorf("message %s was too large for its poison record: %d of %d bytes are kept",
			r.MessageID, len(r.Body), r.BodyBytes)
	}
}

// Replayable returns the text to put on the queue again. Its deliveries are
// counted anew there, so the excused ones of before must not be taken off.
func (r Record) Replayable() (string, error) {
	text, err := r.Original()
	if err != nil {
		return "", err
	}
	if fresh, err := Excuse(text, 0); err == nil {
		return fresh, nil
	}
	return text, nil // unreadable: as it was, so that mended claimers may read it
}

// maxNesting bounds the records within a record: each claimer that did not read
// them has wrapped what it found once more.
const maxNesting = 32

// Unpoisoned returns the message in a poison record that somebody moved back to a
// queue as it was, with its excused deliveries taken off as Replayable does, and
// any other text unchanged. It fails where the record does not have the whole
// message.
func Unpoisoned(text string) (string, error) {
	for range maxNesting {
		record, ok := asRecord(text)
		if !ok {
			return text, nil
		}
		inner, err := record.Replayable()
		if err != nil {
			return "", err
		}
		text = inner
	}
	return "", fmt.Errorf("a poison record within %d others", maxNesting)
}

// asRecord reads a text that is a poison record and nothing else: it names no task.
func asRecord(text string) (Record, bool) {
	fields, _, err := read(text)
	if err != nil || fields["taskId"] != nil || fields["poisonedAt"] == nil || fields["body"] == nil {
		return Record{}, false
	}
	raw, err := marshal(fields)
	if err != nil {
		return Record{}, false
	}
	record, err := Unwrap(string(raw))
	return record, err == nil
}

func pack(s string) (string, error) {
	var buf bytes.Buffer
	w, err := gzip.NewWriterLevel(&buf, gzip.BestCompression)
	if err != nil {
		return "", err
	}
	if _, err := io.WriteString(w, s); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	return base64.StdEncoding.EncodeToString(buf.Bytes()), nil
}

func unpack(s string) (string, error) {
	raw, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		return "", err
	}
	r, err := gzip.NewReader(bytes.NewReader(raw))
	if err != nil {
		return "", err
	}
	// An original was at most one message; a record that unpacks to more is not ours.
	text, err := io.ReadAll(io.LimitReader(r, MaxText+1))
	if err != nil {
		return "", err
	}
	return string(text), fits(string(text))
}

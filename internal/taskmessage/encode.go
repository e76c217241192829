package taskmessage

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// TooLargeError tells that a text does not fit into a queue message.
type TooLargeError struct{ Bytes, Limit int }

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("%d bytes after encoding, a queue message holds %d", e.Bytes, e.Limit)
}

// Encode returns the text that carries raw on a queue: base64, which is what
// Azure's own clients and Taskcluster's workers expect. What does not fit is
// refused with a *TooLargeError.
func Encode(raw []byte) (string, error) {
	text := base64.StdEncoding.EncodeToString(raw)
	return text, fits(text)
}

func fits(text string) error {
	if len(text) > MaxText {
		return &TooLargeError{Bytes: len(text), Limit: MaxText}
	}
	return nil
}

// Excuse returns text with its number of excused deliveries set to n and all
// else kept: unknown fields, exact numbers, and whether it is in base64. n of 0
// takes the field out, as for a message that is put on a queue anew.
func Excuse(text string, n int64) (string, error) {
	fields, inBase64, err := read(text)
	if err != nil {
		return "", err
	}
	delete(fields, "excused")
	if n > 0 {
		fields["excused"] = json.RawMessage(strconv.FormatInt(n, 10))
	}
	raw, err := marshal(fields)
	if err != nil {
		return "", err
	}
	if inBase64 {
		return Encode(raw)
	}
	return string(raw), fits(string(raw))
}

// marshal is json.Marshal without the escaping of <, > and &, which would make
// a message grow each time it is written.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	encoder := json.NewEncoder(&buf)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

// unbase64 takes the standard and the URL alphabet, padded or not.
func unbase64(s string) ([]byte, error) {
	s = strings.TrimRight(strings.NewReplacer("\n", "", "\r", "", "-", "+", "_", "/").Replace(s), "=")
	return base64.RawStdEncoding.DecodeString(s)
}

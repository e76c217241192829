package taskmessage

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of an Azure Storage queue, in bytes of the text as it is sent.
// Source: "About Azure Queue Storage", a message is at most 64 KiB; base64
// leaves 48 KiB of that to the sender.
const (
	MaxText = 64 << 10
	MaxRaw  = MaxText / 4 * 3
)

// idPattern bounds what may become part of a workflow ID or of a URL.
var idPattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// ValidID reports whether s may name a task, a worker or a group of workers.
func ValidID(s string) bool { return idPattern.MatchString(s) }

// Message is one task as a queue carries it:
//
//	{"taskId":"…","runId":0,"payload":{…},"excused":0}
type Message struct {
	TaskID  string
	RunID   int64
	Payload json.RawMessage // an object, or nil where the message has none
	Excused int64           // deliveries that do not count towards poison
}

// Decode reads the text of a message: JSON, or JSON in base64, either with a
// byte order mark. Fields other than the four are passed over. The error says
// in words for a person why the message is poison.
func Decode(text string) (Message, error) {
	fields, _, err := read(text)
	if err != nil {
		return Message{}, err
	}
	var m Message
	if err := m.setTaskID(fields["taskId"]); err != nil {
		return Message{}, err
	}
	if m.RunID, err = count(fields["runId"], "runId"); err != nil {
		return Message{}, err
	}
	if m.Excused, err = count(fields["excused"], "excused"); err != nil {
		return Message{}, err
	}
	if payload, ok := fields["payload"]; ok {
		if payload[0] != '{' {
			return Message{}, fmt.Errorf("payload is %s, not an object", kind(payload))
		}
		m.Payload = payload
	}
	return m, nil
}

// ExcusedOf is how many of so many deliveries, the present one included, the
// message may rightly say are excused: at most those before. A number beyond that
// was not written by a claimer of this queue, and excuses nothing.
func (m Message) ExcusedOf(deliveries int64) int64 {
	if m.Excused >= deliveries {
		return 0
	}
	return m.Excused
}

func (m *Message) setTaskID(raw json.RawMessage) error {
	if raw == nil {
		return fmt.Errorf("taskId is missing")
	}
	if raw[0] != '"' || json.Unmarshal(raw, &m.TaskID) != nil {
		return fmt.Errorf("taskId is %s, not a string", kind(raw))
	}
	if !ValidID(m.TaskID) {
		return fmt.Errorf("taskId %s does not match %s", shorten(strconv.Quote(m.TaskID), 100), idPattern)
	}
	return nil
}

// count reads an integer of at least 0; an absent one is 0.
func count(raw json.RawMessage, name string) (int64, error) {
	if raw == nil {
		return 0, nil
	}
	if raw[0] != '-' && (raw[0] < '0' || raw[0] > '9') {
		return 0, fmt.Errorf("%s is %s, not a number", name, kind(raw))
	}
	n, err := strconv.ParseInt(string(raw), 10, 64)
	if err != nil || n < 0 || n > 1<<31-1 {
		return 0, fmt.Errorf("%s is %s, not an integer from 0 to 2147483647", name, shorten(string(raw), 40))
	}
	return n, nil
}

// read finds the JSON object in text and tells whether it was in base64.
func read(text string) (fields map[string]json.RawMessage, inBase64 bool, err error) {
	plain := trim([]byte(text))
	if len(plain) == 0 {
		return nil, false, fmt.Errorf("the message is empty")
	}
	if plain[0] == '{' {
		fields, err = object(plain)
		return fields, false, err
	}
	raw, err := unbase64(string(plain))
	if inner := trim(raw); err == nil && len(inner) > 0 && inner[0] == '{' {
		fields, err = object(inner)
		return fields, true, err
	}
	switch {
	case json.Valid(plain):
		return nil, false, fmt.Errorf("the message is %s, not a JSON object", kind(plain))
	case err != nil:
		return nil, false, fmt.Errorf("the message is neither JSON nor base64")
	case len(trim(raw)) == 0:
		return nil, false, fmt.Errorf("the message is empty inside its base64")
	case json.Valid(trim(raw)):
		return nil, false, fmt.Errorf("the message holds %s in base64, not a JSON object", kind(trim(raw)))
	default:
		return nil, false, fmt.Errorf("the message is base64 of something that is not JSON")
	}
}

func object(raw []byte) (map[string]json.RawMessage, error) {
	if !utf8.Valid(raw) {
		return nil, fmt.Errorf("the message is not valid UTF-8")
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, fmt.Errorf("the message is not valid JSON: %w", err)
	}
	return fields, nil
}

var byteOrderMark = []byte("\uFEFF")

func trim(raw []byte) []byte {
	return bytes.TrimSpace(bytes.TrimPrefix(bytes.TrimSpace(raw), byteOrderMark))
}

// kind names a JSON value's kind for a message to a person.
func kind(raw []byte) string {
	switch raw[0] {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case 'n':
		return "null"
	case 't', 'f':
		return string(raw)
	default:
		return "the number " + shorten(string(raw), 40)
	}
}

// shorten cuts s to at most n bytes at a rune's boundary and marks the cut.
func shorten(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return strings.TrimSpace(s[:n]) + "…"
}

package s3event

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// deepest bounds how many wrappings of a message are taken off: EventBridge or S3
// in SNS in SNS is more than anyone has.
const deepest = 3

// Message is what a queue message holds.
type Message struct {
	Events []Event
	// Passed counts records that say nothing about what is live: tags, restores,
	// test events.
	Passed int
	// Faults are those of records that could not be read. The message is to be
	// left to the queue's redrive policy then, though its other records count.
	Faults []error
}

// Parse reads the body of a queue message: an S3 event notification as S3 sends
// it, the same in an SNS notification, or an EventBridge event. An error says that
// it is none of these.
func Parse(body []byte) (Message, error) { return parse(body, 0) }

func parse(body []byte, depth int) (Message, error) {
	var m struct {
		// S3's own
		Records []json.RawMessage `json:"Records"`
		Event   string            `json:"Event"`
		// SNS
		Type    string  `json:"Type"`
		Message *string `json:"Message"`
		// EventBridge
		DetailType string          `json:"detail-type"`
		Source     string          `json:"source"`
		Time       string          `json:"time"`
		Detail     json.RawMessage `json:"detail"`
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return Message{}, fmt.Errorf("not a JSON message: %w", err)
	}
	switch {
	case m.Event == "s3:TestEvent":
		return Message{Passed: 1}, nil
	case m.Records != nil:
		return notification(m.Records), nil
	case m.Message != nil && (m.Type == "Notification" || m.Type == ""):
		if depth == deepest {
			return Message{}, errors.New("wrapped too many times")
		}
		return parse([]byte(*m.Message), depth+1)
	case m.DetailType != "":
		return bridged(m.DetailType, instant(m.Time), m.Detail)
	default:
		return Message{}, fmt.Errorf("neither an S3 notification nor an SNS or EventBridge message that holds one%s", kindOfOther(m.Type, body))
	}
}

// kindOfOther names what else services send to such queues, so that whoever reads it
// knows where the message comes from.
func kindOfOther(kind string, body []byte) string {
	if kind != "" {
		return fmt.Sprintf(", but an SNS message of Type %q", kind)
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || len(fields) == 0 {
		return ""
	}
	names := slices.Sorted(maps.Keys(fields))
	return fmt.Sprintf("; its fields are %q", names[:min(len(names), 5)])
}

// record is an element of a notification's Records.
type record struct {
	Version string `json:"eventVersion"`
	Name    string `json:"eventName"`
	Time    string `json:"eventTime"`
	S3      struct {
		Bucket struct {
			Name string `json:"name"`
		} `json:"bucket"`
		Object struct {
			Key       string `json:"key"`
			Size      int64  `json:"size"`
			ETag      string `json:"eTag"`
			VersionID string `json:"versionId"`
			Sequencer string `json:"sequencer"`
		} `json:"object"`
	} `json:"s3"`
}

func notification(records []json.RawMessage) Message {
	var m Message
	for i, raw := range records {
		event, ok, err := fromRecord(raw)
		switch {
		case err != nil:
			m.Faults = append(m.Faults, fmt.Errorf("in Records[%d]: %w", i, err))
		case ok:
			m.Events = append(m.Events, event)
		default:
			m.Passed++
		}
	}
	return m
}

// fromRecord reads a record; ok is false for one that says nothing about what is
// live. Minor versions of the format only add fields; a major one may mean
// anything.
func fromRecord(raw json.RawMessage) (event Event, ok bool, err error) {
	var r record
	if err := json.Unmarshal(raw, &r); err != nil {
		return Event{}, false, err
	}
	if r.Version != "" && !strings.HasPrefix(r.Version, "2.") {
		return Event{}, false, fmt.Errorf("event version %q is not 2.x", r.Version)
	}
	kind, ok := kindOf(r.Name)
	if !ok {
		if r.Name == "" {
			return Event{}, false, errors.New("no eventName")
		}
		return Event{}, false, nil
	}
	if r.S3.Bucket.Name == "" || r.S3.Object.Key == "" {
		return Event{}, false, errors.New("no bucket or no key")
	}
	key, decoded := decodeKey(r.S3.Object.Key)
	event = Event{
		Kind:    kind,
		Bucket:  r.S3.Bucket.Name,
		Key:     key,
		RawKey:  !decoded,
		Version: versionID(r.S3.Object.VersionID),
		ETag:    strings.Trim(r.S3.Object.ETag, `"`),
		Size:    r.S3.Object.Size,
		Stamp:   Stamp{Sequencer: r.S3.Object.Sequencer, At: instant(r.Time)},
	}
	return event, true, event.checkSize()
}

// kindOf understands both spellings of event names, with "s3:" and without, and
// what lifecycle rules do as well as what users do.
func kindOf(name string) (Kind, bool) {
	group, action, _ := strings.Cut(strings.TrimPrefix(name, "s3:"), ":")
	switch {
	case group == "ObjectCreated":
		return Created, true
	case group == "ObjectRemoved" || group == "LifecycleExpiration":
		if action == "DeleteMarkerCreated" {
			return Marker, true
		}
		return Removed, true
	default:
		return "", false
	}
}

// decodeKey undoes the form encoding of keys in notifications, once: a key that
// holds a percent sign of its own keeps it.
func decodeKey(key string) (decoded string, ok bool) {
	decoded, err := url.QueryUnescape(key)
	if err != nil || !utf8.ValidString(decoded) {
		return key, false
	}
	return decoded, true
}

// versionID maps the ID that objects written before versioning have to none.
func versionID(id string) string {
	if id == "null" {
		return ""
	}
	return id
}

// instant reads the time of an event, which only orders those without a
// sequencer: one that can't be read is as good as none.
func instant(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

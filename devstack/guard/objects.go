package guard

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"
)

// mendEvents makes the S3 events in a ReceiveMessage answer like the service's:
// no "s3:" in front of the event's name, and a sequencer that rises with the
// writes of a key. The message's checksum follows.
func (o *objects) mendEvents(out doc) {
	var messages []doc
	if json.Unmarshal(out["Messages"], &messages) != nil || len(messages) == 0 {
		return
	}
	for _, message := range messages {
		body := message.text("Body")
		if !strings.Contains(body, `"aws:s3"`) {
			continue
		}
		if mended, changed := o.mendBody(message.text("MessageId"), body); changed {
			message.set("Body", mended)
			message.set("MD5OfBody", sum(mended))
		}
	}
	out.set("Messages", messages)
}

func (o *objects) mendBody(messageID, body string) (string, bool) {
	event, err := parse([]byte(body))
	if err != nil {
		return body, false
	}
	var records []doc
	if json.Unmarshal(event["Records"], &records) != nil {
		return body, false
	}
	changed := false
	for i, record := range records {
		name, bare := strings.CutPrefix(record.text("eventName"), "s3:")
		if record.text("eventSource") != "aws:s3" || !bare {
			continue // not kumo's
		}
		record.set("eventName", name)
		detail, _ := parse(record["s3"])
		object, _ := parse(detail["object"])
		bucket, _ := parse(detail["bucket"])
		key, err := url.QueryUnescape(object.text("key"))
		if err != nil {
			key = object.text("key")
		}
		v := version{bucket.text("name"), key, object.text("eTag")}
		object.set("sequencer", sequencerText(o.sequencer(fmt.Sprint(messageID, "/", i), v)))
		detail.set("object", object)
		record.set("s3", detail)
		changed = true
	}
	event.set("Records", records)
	return string(encode(event)), changed
}

func sequencerText(n int64) string { return fmt.Sprintf("%016X", n) }

// A version is one content of an object.
type version struct{ bucket, key, etag string }

// objects is what the guard knows of objects and their events: S3's side writes
// it, SQS' side reads it.
type objects struct {
	to *upstream // kumo, for both services

	mu   sync.Mutex
	last int64
	// Places of the writes of a version whose events have not been seen yet.
	pending map[version][]int64
	// The place that a message was given, since it may come more than once.
	given     map[string]int64
	checksums map[version]string
}

func newObjects(to *upstream) *objects {
	return &objects{to: to, pending: map[version][]int64{}, given: map[string]int64{}, checksums: map[version]string{}}
}

// remembered bounds each of the maps; beyond it the older half of the messages
// is forgotten, of the others what chance finds first.
const remembered = 100_000

// place is the next in the order of all events: the time, so that it rises also
// from one run of the stack to the next, or one more than the last.
func (o *objects) place() int64 {
	o.last = max(o.last+1, time.Now().UnixNano())
	return o.last
}

// written notes a write that kumo will announce.
func (o *objects) written(v version, checksum string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	shrink(o.pending)
	o.pending[v] = append(o.pending[v], o.place())
	if checksum != "" {
		shrink(o.checksums)
		o.checksums[v] = checksum
	} else {
		delete(o.checksums, v)
	}
}

// sequencer answers the place of the event in a message: that of the write it
// tells of, or of now if the guard did not see the write.
func (o *objects) sequencer(message string, v version) int64 {
	o.mu.Lock()
	defer o.mu.Unlock()
	if n, known := o.given[message]; known {
		return n
	}
	var n int64
	if places := o.pending[v]; len(places) > 0 {
		n = places[0]
		if o.pending[v] = places[1:]; len(places) == 1 {
			delete(o.pending, v)
		}
	} else {
		n = o.place()
	}
	shrink(o.given)
	o.given[message] = n
	return n
}

func (o *objects) checksum(v version) string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.checksums[v]
}

func (o *objects) setChecksum(v version, checksum string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	shrink(o.checksums)
	o.checksums[v] = checksum
}

// shrink forgets half of a map that has grown too large.
func shrink[K comparable, V any](m map[K]V) {
	if len(m) < remembered {
		return
	}
	for key := range m {
		if len(m) <= remembered/2 {
			return
		}
		delete(m, key)
	}
}

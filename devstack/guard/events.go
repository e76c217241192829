package guard

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
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
